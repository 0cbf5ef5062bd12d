// A server that sends, and a client that receives, over one stream.
//
//	server ADDRESS PORT LAW CERTIFICATE KEY
//	client ADDRESS PORT BYTES
package main

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"log"
	"net"
	"os"
	"strconv"
)

const protocol = "cwndlab"

func main() {
	log.SetFlags(0)
	role, address := os.Args[1], net.JoinHostPort(os.Args[2], os.Args[3])
	if role == "server" {
		pair, err := tls.LoadX509KeyPair(os.Args[5], os.Args[6])
		check(err)
		serve(address, pair)
	} else {
		bytes, err := strconv.ParseUint(os.Args[4], 10, 64)
		check(err)
		fetch(address, bytes)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// send answers a request of eight bytes, how many bytes are wanted, where 0 is without end.
func send(stream io.ReadWriteCloser) {
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

// receive asks for so many bytes, and reads them; closeWrite ends the request.
func receive(stream io.ReadWriter, closeWrite func(), bytes uint64) {
	_, err := stream.Write(binary.BigEndian.AppendUint64(nil, bytes))
	check(err)
	closeWrite()
	n, err := io.Copy(io.Discard, stream)
	log.Printf("%d bytes", n)
	check(err)
}
