// The benchmark's dumbbells on htsim; prints one JSON object.
//
//   peer_htsim WORKLOAD [DURATION_S]
//
// The workloads, and how this differs from them, are described in benches/README.md.
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "eventlist.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

namespace {

struct Workload {
  const char *name;
  int flows;
  double rate_bps, rtt_s;
  int limit;
  double duration_s, stagger_s;
  uint64_t packets; // of each flow; 0: unlimited
};

const Workload WORKLOADS[] = {
    {"10x1.5M", 10, 1.5e6, 0.1, 25, 2400, 0.1, 0},
    {"50x100M", 50, 100e6, 0.02, 250, 60, 0.02, 0},
    {"200x1G", 200, 1e9, 0.02, 2500, 10, 0.005, 0},
    {"incast", 200, 10e9, 1e-4, 250, 10, 1e-6, 333},
};

constexpr int PACKET = 1500, WINDOW = 10000;

uint64_t hops = 0;

class CountingQueue : public Queue {
public:
  using Queue::Queue;

protected:
  void completeService() override {
    ++hops;
    Queue::completeService();
  }
};

// A queue and the pipe behind it; a link without delay is only a queue.
class Link {
public:
  Link(double rate_bps, double delay_s, mem_b limit, EventList &events)
      : queue(static_cast<linkspeed_bps>(rate_bps), limit, events, nullptr), pipe(timeFromSec(delay_s), events) {}
  void append_to(route_t &route) {
    route.push_back(&queue);
    if (pipe.delay() > 0) route.push_back(&pipe);
  }
  CountingQueue queue;
  Pipe pipe;
};

} // namespace

int main(int argc, char **argv) {
  const Workload *found = nullptr;
  for (const Workload &one : WORKLOADS)
    if (argc >= 2 && std::string(argv[1]) == one.name) found = &one;
  if (!found) {
    std::cerr << "usage: peer_htsim 10x1.5M|50x100M|200x1G|incast [DURATION_S]\n";
    return 2;
  }
  const Workload work = *found;
  const double duration_s = argc > 2 ? std::stod(argv[2]) : work.duration_s;

  EventList events;
  events.setEndtime(timeFromSec(duration_s));
  Packet::set_packet_size(PACKET);
  TcpRtxTimerScanner scanner(timeFromMs(10), events);
  const mem_b unlimited = mem_b{1} << 40;
  Link bottleneck(work.rate_bps, 0.455 * work.rtt_s, mem_b{work.limit} * PACKET, events);
  Link back(work.rate_bps, 0.455 * work.rtt_s, unlimited, events);
  std::vector<std::unique_ptr<Link>> links;
  std::vector<std::unique_ptr<route_t>> routes;
  std::vector<std::unique_ptr<TcpSrc>> sources;
  std::vector<std::unique_ptr<TcpSink>> sinks;
  auto link = [&](double delay_s) -> Link & {
    links.push_back(std::make_unique<Link>(10 * work.rate_bps, delay_s, unlimited, events));
    return *links.back();
  };
  std::cout.setstate(std::ios::failbit); // htsim's lines about flows and timeouts
  for (int i = 0; i < work.flows; ++i) {
    const double access_s = 0.01 * work.rtt_s * (i % 10);
    sources.push_back(std::make_unique<TcpSrc>(nullptr, nullptr, events));
    sinks.push_back(std::make_unique<TcpSink>());
    TcpSrc &source = *sources.back();
    source.set_cwnd(2 * PACKET);
    source.set_ssthresh(uint64_t{WINDOW} * PACKET);
    if (work.packets) source.set_flowsize(work.packets * PACKET);
    source._maxcwnd = WINDOW * PACKET;
    scanner.registerTcp(source);
    routes.push_back(std::make_unique<route_t>());
    route_t &out = *routes.back();
    link(access_s).append_to(out);
    bottleneck.append_to(out);
    link(0).append_to(out);
    out.push_back(sinks.back().get());
    routes.push_back(std::make_unique<route_t>());
    route_t &home = *routes.back();
    link(0).append_to(home);
    back.append_to(home);
    link(access_s).append_to(home);
    home.push_back(&source);
    source.connect(out, home, *sinks.back(), timeFromSec(i * work.stagger_s));
  }
  const std::clock_t before = std::clock();
  while (events.doNextEvent()) {
  }
  std::cout.clear();
  const double cpu_s = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  uint64_t bytes = 0;
  for (const auto &sink : sinks) bytes += sink->_cumulative_ack;
  std::cout << "{\"tool\": \"htsim\", \"workload\": \"" << work.name << "\", \"duration_s\": " << duration_s
            << ", \"flows\": " << work.flows << ", \"goodput_bps\": " << static_cast<uint64_t>(8 * bytes / duration_s)
            << ", \"cpu_s\": " << cpu_s << ", \"hops\": " << hops << ", \"drops\": " << bottleneck.queue.num_drops() << "}\n";
}
