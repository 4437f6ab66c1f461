package outside

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"time"

	"minikcm.dev/minikcm/internal/network/reach"
)

// The parts of SOCKS5 (RFC 1928) that are served: CONNECT without authentication.
const (
	socksVersion   = 5
	socksNoAuth    = 0
	socksNoMethod  = 0xff
	socksConnect   = 1
	socksIPv4      = 1
	socksName      = 3
	socksIPv6      = 4
	socksSucceeded = 0
	socksFailed    = 1
	socksNoNetwork = 3
	socksNoHost    = 4
	socksRefused   = 5
	socksExpired   = 6
	socksNoCommand = 7
	socksNoAddress = 8
)

// socks serves a client of SOCKS5. The deadline of the first byte bounds its greeting and its request.
func (p *proxy) socks(ctx context.Context, conn *buffered) {
	host, port, code, ok := readSocks(conn)
	if !ok {
		_ = conn.Close()
		return
	}
	var path *reach.Path
	if code == socksSucceeded {
		var err error
		if path, err = p.decide(ctx, host, port); err != nil {
			code = socksFailed
		} else if !arrives(path) {
			code = socksCode(path.Outcome)
		}
	}
	_, err := conn.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	if err != nil || code != socksSucceeded {
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	p.join(ctx, conn, path)
}

// socksCode returns the code of a connection that does not arrive.
func socksCode(outcome reach.Outcome) byte {
	switch outcome {
	case reach.Refused:
		return socksRefused
	case reach.TimedOut:
		return socksExpired
	case reach.Unreachable, reach.Unknown:
		return socksNoNetwork
	}
	return socksNoHost
}

// readSocks reads the greeting, which it answers, and the request of a client. ok is false if the client does not get an answer.
func readSocks(conn io.ReadWriter) (host string, port int32, code byte, ok bool) {
	buffer := make([]byte, 1+255+2)
	read := func(n int) []byte {
		if _, err := io.ReadFull(conn, buffer[:n]); err != nil {
			return nil
		}
		return buffer[:n]
	}
	head := read(2)
	if head == nil || head[0] != socksVersion {
		return "", 0, 0, false
	}
	method := byte(socksNoMethod)
	methods := read(int(head[1]))
	if methods == nil {
		return "", 0, 0, false
	}
	for _, m := range methods {
		if m == socksNoAuth {
			method = socksNoAuth
		}
	}
	if _, err := conn.Write([]byte{socksVersion, method}); err != nil || method != socksNoAuth {
		return "", 0, 0, false
	}
	request := read(4)
	if request == nil || request[0] != socksVersion {
		return "", 0, 0, false
	}
	command, kind := request[1], request[3]
	switch kind {
	case socksIPv4, socksIPv6:
		n := net.IPv4len
		if kind == socksIPv6 {
			n = net.IPv6len
		}
		bytes := read(n)
		if bytes == nil {
			return "", 0, 0, false
		}
		address, _ := netip.AddrFromSlice(bytes)
		host = address.Unmap().String()
	case socksName:
		length := read(1)
		if length == nil || length[0] == 0 {
			return "", 0, 0, false
		}
		name := read(int(length[0]))
		if name == nil {
			return "", 0, 0, false
		}
		host = string(name)
	default:
		return "", 0, socksNoAddress, true
	}
	number := read(2)
	if number == nil {
		return "", 0, 0, false
	}
	if command != socksConnect {
		return "", 0, socksNoCommand, true
	}
	return host, int32(binary.BigEndian.Uint16(number)), socksSucceeded, true
}
