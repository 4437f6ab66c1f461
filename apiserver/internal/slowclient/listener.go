package slowclient

import "net"

// sendBuffer is the socket send buffer, enough for a fast client. The system's default can
// grow to megabytes for each client that does not read.
const sendBuffer = 128 << 10

// Listener sets the send buffer size of the TCP connections that it accepts, so that a
// client that does not read holds sendBuffer bytes in the kernel at most.
type Listener struct{ net.Listener }

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, isTCP := conn.(*net.TCPConn); isTCP && err == nil {
		_ = tcp.SetWriteBuffer(sendBuffer) // best effort
	}
	return conn, err
}
