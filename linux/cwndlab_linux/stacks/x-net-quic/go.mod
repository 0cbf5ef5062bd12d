module cwndlab/x-net-quic

go 1.25

require golang.org/x/net v0.49.0

require (
	golang.org/x/crypto v0.47.0 // indirect
	golang.org/x/sys v0.40.0 // indirect
)
