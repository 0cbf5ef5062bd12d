// A server that sends, and a client that receives, over one stream of golang.org/x/net/quic.
//
//	server ADDRESS PORT LAW CERTIFICATE KEY
//	client ADDRESS PORT BYTES
package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"log"
	"net"
	"os"
	"strconv"

	"golang.org/x/net/quic"
)

const protocol = "cwndlab"

func main() {
	log.SetFlags(0)
	role, address := os.Args[1], net.JoinHostPort(os.Args[2], os.Args[3])
	if role == "server" {
		serve(address, os.Args[5], os.Args[6])
	} else {
		bytes, err := strconv.ParseUint(os.Args[4], 10, 64)
		check(err)
		receive(address, bytes)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func serve(address, certificate, key string) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	check(err)
	config := &quic.Config{TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
	}}
	endpoint, err := quic.Listen("udp", address, config)
	check(err)
	for {
		connection, err := endpoint.Accept(context.Background())
		check(err)
		go send(connection)
	}
}

// send answers a request of eight bytes, how many bytes are wanted, where 0 is without end.
func send(connection *quic.Conn) {
	stream, err := connection.AcceptStream(context.Background())
	if err != nil {
		return
	}
	var wanted [8]byte
	if _, err := io.ReadFull(stream, wanted[:]); err != nil {
		return
	}
	left := binary.BigEndian.Uint64(wanted[:])
	endless := left == 0
	chunk := make([]byte, 64*1024)
	for endless || left > 0 {
		if !endless && left < uint64(len(chunk)) {
			chunk = chunk[:left]
		}
		n, err := stream.Write(chunk)
		if err != nil {
			return
		}
		left -= uint64(n)
	}
	stream.Close()
}

func receive(address string, bytes uint64) {
	config := &quic.Config{TLSConfig: &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
	}}
	endpoint, err := quic.Listen("udp", ":0", nil)
	check(err)
	connection, err := endpoint.Dial(context.Background(), "udp", address, config)
	check(err)
	stream, err := connection.NewStream(context.Background())
	check(err)
	_, err = stream.Write(binary.BigEndian.AppendUint64(nil, bytes))
	check(err)
	stream.CloseWrite()
	n, err := io.Copy(io.Discard, stream)
	log.Printf("%d bytes", n)
	check(err)
}
