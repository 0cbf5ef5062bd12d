// The benchmark's dumbbells on ns-3; prints one JSON object.
//
//   peer_ns3 WORKLOAD time|count [DURATION_S [PAIRS]]
//
// time:  nothing is observed.
// count: every device counts the packets that it receives, and the bottleneck those that it drops. The run is the
//        same event by event.
// PAIRS: of hosts, which the flows share in turn; by default 10. A router of ns-3 searches its interfaces for each
//        packet, so a pair for each flow costs it time.
// The workloads, and how this differs from them, are described in benches/README.md.
#include <ctime>
#include <iostream>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

struct Workload {
  const char *name;
  uint32_t flows;
  double rate_bps, rtt_s;
  uint32_t limit;
  double duration_s, stagger_s;
};

const Workload WORKLOADS[] = {
    {"10x1.5M", 10, 1.5e6, 0.1, 25, 2400, 0.1},
    {"50x100M", 50, 100e6, 0.02, 250, 60, 0.02},
    {"200x1G", 200, 1e9, 0.02, 2500, 10, 0.005},
};

constexpr uint32_t SEGMENT = 1460, WINDOW = 10000;

uint64_t hops = 0, drops = 0;
void received(Ptr<const Packet>) { ++hops; }
void dropped(Ptr<const Packet>) { ++drops; }

// Both ends of a link, whose queues hold `limit` packets.
NetDeviceContainer link(Ptr<Node> a, Ptr<Node> b, double rate_bps, double delay_s, uint32_t limit) {
  PointToPointHelper helper;
  helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate_bps))));
  helper.SetChannelAttribute("Delay", TimeValue(Seconds(delay_s)));
  helper.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, limit)));
  return helper.Install(a, b);
}

} // namespace

int main(int argc, char **argv) {
  const Workload *found = nullptr;
  for (const Workload &one : WORKLOADS)
    if (argc >= 3 && std::string(argv[1]) == one.name) found = &one;
  const std::string mode = argc >= 3 ? argv[2] : "";
  if (!found || (mode != "time" && mode != "count")) {
    std::cerr << "usage: peer_ns3 10x1.5M|50x100M|200x1G time|count [DURATION_S [PAIRS]]\n";
    return 2;
  }
  const Workload work = *found;
  const double duration_s = argc > 3 ? std::stod(argv[3]) : work.duration_s;
  const uint32_t pairs = argc > 4 ? std::stoul(argv[4]) : 10;

  Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
  Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(WINDOW * SEGMENT));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(WINDOW * SEGMENT));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
  Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(WINDOW * SEGMENT));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
  Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(10)));

  NodeContainer routers(2), sources(pairs), sinks(pairs);
  InternetStackHelper internet;
  internet.InstallAll();
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
  TrafficControlHelper control;
  NetDeviceContainer devices;
  std::vector<Ipv4Address> to;
  auto connect = [&](Ptr<Node> a, Ptr<Node> b, double rate_bps, double delay_s, uint32_t limit) {
    NetDeviceContainer pair = link(a, b, rate_bps, delay_s, limit);
    Ipv4InterfaceContainer made = addresses.Assign(pair);
    control.Uninstall(pair); // the queue disc that assigning an address installs: the device's queue is the only one
    addresses.NewNetwork();
    devices.Add(pair);
    return made.GetAddress(1);
  };
  const uint32_t unlimited = 1000000;
  // ns-3 does not count the packet in service
  connect(routers.Get(0), routers.Get(1), work.rate_bps, 0.455 * work.rtt_s, work.limit - 1);
  // the way back is not limited
  DynamicCast<PointToPointNetDevice>(devices.Get(1))
      ->GetQueue()
      ->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, unlimited));
  for (uint32_t i = 0; i < pairs; ++i) {
    connect(routers.Get(0), sources.Get(i), 10 * work.rate_bps, 0.01 * work.rtt_s * (i % 10), unlimited);
    to.push_back(connect(routers.Get(1), sinks.Get(i), 10 * work.rate_bps, 0, unlimited));
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  ApplicationContainer receivers;
  for (uint32_t i = 0; i < work.flows; ++i) {
    const uint16_t port = 5001 + i;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    receivers.Add(sink.Install(sinks.Get(i % pairs)));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(to[i % pairs], port));
    source.SetAttribute("MaxBytes", UintegerValue(0));
    source.SetAttribute("SendSize", UintegerValue(SEGMENT));
    source.Install(sources.Get(i % pairs)).Start(Seconds(i * work.stagger_s));
  }

  if (mode == "count") {
    for (uint32_t i = 0; i < devices.GetN(); ++i)
      devices.Get(i)->TraceConnectWithoutContext("MacRx", MakeCallback(&received));
    // while the device's queue is full, the layer above it drops
    routers.Get(0)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", MakeCallback(&dropped));
  }
  const std::clock_t before = std::clock();
  Simulator::Stop(Seconds(duration_s));
  Simulator::Run();
  const double cpu_s = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < receivers.GetN(); ++i) bytes += DynamicCast<PacketSink>(receivers.Get(i))->GetTotalRx();
  const double goodput_bps = static_cast<double>(bytes) * 1500 / SEGMENT * 8 / duration_s;
  std::cout << "{\"tool\": \"ns-3\", \"workload\": \"" << work.name << "\", \"duration_s\": " << duration_s
            << ", \"flows\": " << work.flows << ", \"goodput_bps\": " << static_cast<uint64_t>(goodput_bps)
            << ", \"cpu_s\": " << cpu_s;
  if (mode == "count") std::cout << ", \"hops\": " << hops << ", \"drops\": " << drops;
  std::cout << "}\n";
  Simulator::Destroy();
}
