// A server that sends, and a client that receives, over one stream of quic-go.
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

	"github.com/quic-go/quic-go"
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
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr(address, config, nil)
	check(err)
	for {
		connection, err := listener.Accept(context.Background())
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
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	connection, err := quic.DialAddr(context.Background(), address, config, nil)
	check(err)
	stream, err := connection.OpenStreamSync(context.Background())
	check(err)
	_, err = stream.Write(binary.BigEndian.AppendUint64(nil, bytes))
	check(err)
	check(stream.Close())
	n, err := io.Copy(io.Discard, stream)
	log.Printf("%d bytes", n)
	check(err)
	check(connection.CloseWithError(0, ""))
}
