package proxyserver

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"minikcm.dev/minikcm/internal/network/reach"
)

// The parts of SOCKS5 (RFC 1928) that are served: CONNECT, without authentication or with a password (RFC 1929).
const (
	socksVersion   = 5
	socksNoAuth    = 0
	socksPassword  = 2
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
func (p *Proxy) socks(ctx context.Context, conn *buffered) {
	host, port, code, ok := readSocks(conn, p.Password)
	if !ok {
		_ = conn.Close()
		return
	}
	var route Route
	if code == socksSucceeded {
		var err error
		if route, err = p.connect(ctx, host, port); err != nil {
			code = socksFailed
			var refused *RefusedError
			if errors.As(err, &refused) {
				code = socksCode(refused.Outcome)
			}
		}
	}
	_, err := conn.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	if err != nil || code != socksSucceeded {
		if route != nil {
			route.Close()
		}
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	route.Join(ctx, conn)
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

// readSocks reads the greeting, which it answers, and the request of a client, which has to know the password unless that is empty. ok is
// false if the client does not get an answer.
func readSocks(conn io.ReadWriter, password string) (host string, port int32, code byte, ok bool) {
	buffer := make([]byte, 1+255+2)
	read := func(n int) []byte {
		if _, err := io.ReadFull(conn, buffer[:n]); err != nil {
			return nil
		}
		return buffer[:n]
	}
	if !greet(conn, read, password) {
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

// greet answers the greeting of a client; false: it may not go on.
func greet(conn io.Writer, read func(int) []byte, password string) bool {
	wanted := byte(socksNoAuth)
	if password != "" {
		wanted = socksPassword
	}
	head := read(2)
	if head == nil || head[0] != socksVersion {
		return false
	}
	methods := read(int(head[1]))
	if methods == nil {
		return false
	}
	method := byte(socksNoMethod)
	if bytes.IndexByte(methods, wanted) >= 0 {
		method = wanted
	}
	if _, err := conn.Write([]byte{socksVersion, method}); err != nil || method == socksNoMethod {
		return false
	}
	if password == "" {
		return true
	}
	head = read(2)
	if head == nil || head[0] != 1 || read(int(head[1])) == nil { // the name does not matter
		return false
	}
	length := read(1)
	if length == nil {
		return false
	}
	given := read(int(length[0]))
	status := byte(1)
	if given != nil && subtle.ConstantTimeCompare(given, []byte(password)) == 1 {
		status = 0
	}
	_, err := conn.Write([]byte{1, status})
	return err == nil && status == 0
}
