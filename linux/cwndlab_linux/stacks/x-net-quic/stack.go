package main

import (
	"context"
	"crypto/tls"

	"golang.org/x/net/quic"
)

func serve(address string, pair tls.Certificate) {
	config := &quic.Config{TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
	}}
	endpoint, err := quic.Listen("udp", address, config)
	check(err)
	for {
		connection, err := endpoint.Accept(context.Background())
		check(err)
		go func() {
			if stream, err := connection.AcceptStream(context.Background()); err == nil {
				send(stream)
			}
		}()
	}
}

func fetch(address string, bytes uint64) {
	config := &quic.Config{TLSConfig: &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
	}}
	endpoint, err := quic.Listen("udp", ":0", nil)
	check(err)
	connection, err := endpoint.Dial(context.Background(), "udp", address, config)
	check(err)
	stream, err := connection.NewStream(context.Background())
	check(err)
	receive(stream, stream.CloseWrite, bytes)
}
