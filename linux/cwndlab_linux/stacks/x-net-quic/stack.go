package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"os"

	"golang.org/x/net/quic"
	"golang.org/x/net/quic/qlog"
)

// traced writes qlog to the folder that QLOGDIR names, if it is set.
func traced(config *quic.Config) *quic.Config {
	if folder := os.Getenv("QLOGDIR"); folder != "" {
		config.QLogLogger = slog.New(qlog.NewJSONHandler(qlog.HandlerOptions{Level: quic.QLogLevelFrame, Dir: folder}))
	}
	return config
}

func serve(address string, pair tls.Certificate) {
	config := &quic.Config{TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
	}}
	endpoint, err := quic.Listen("udp", address, traced(config))
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
	connection, err := endpoint.Dial(context.Background(), "udp", address, traced(config))
	check(err)
	stream, err := connection.NewStream(context.Background())
	check(err)
	receive(stream, stream.CloseWrite, bytes)
}
