package main

import (
	"context"
	"crypto/tls"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

// traced writes qlog to the folder that QLOGDIR names, if it is set.
var traced = &quic.Config{Tracer: qlog.DefaultConnectionTracer}

func serve(address string, pair tls.Certificate) {
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr(address, config, traced)
	check(err)
	for {
		connection, err := listener.Accept(context.Background())
		check(err)
		go func() {
			if stream, err := connection.AcceptStream(context.Background()); err == nil {
				send(stream)
			}
		}()
	}
}

func fetch(address string, bytes uint64) {
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	connection, err := quic.DialAddr(context.Background(), address, config, traced)
	check(err)
	stream, err := connection.OpenStreamSync(context.Background())
	check(err)
	receive(stream, func() { check(stream.Close()) }, bytes)
	check(connection.CloseWithError(0, ""))
}
