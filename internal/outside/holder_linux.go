package outside

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The states of a socket that listens, in /proc/net/tcp, and of one that any sender reaches, in /proc/net/udp.
const (
	listening = "0A"
	receiving = "07"
)

// holder returns the process that listens on a port of an IPv4 address; empty if that is not known. The files of other users'
// processes cannot be read.
func holder(address string, port int32, protocol corev1.Protocol) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	own := fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip.AsSlice()), port)
	any4 := fmt.Sprintf("%08X:%04X", 0, port)
	table, state := "/proc/net/tcp", listening
	if protocol == corev1.ProtocolUDP {
		table, state = "/proc/net/udp", receiving
	}
	inode := inodeOf(table, state, own, any4)
	if inode == "" {
		inode = inodeOf(table+"6", state, fmt.Sprintf("%032X:%04X", 0, port))
	}
	if inode == "" {
		return ""
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != "socket:["+inode+"]" {
			continue
		}
		pid := strings.Split(link, "/")[2]
		name, err := os.ReadFile("/proc/" + pid + "/comm")
		if err != nil {
			return "process " + pid
		}
		return fmt.Sprintf("process %s (%s)", pid, strings.TrimSpace(string(name)))
	}
	return ""
}

// inodeOf returns the inode of the socket in a state that has one of the addresses; empty if there is none.
func inodeOf(table, state string, addresses ...string) string {
	data, err := os.ReadFile(table)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != state {
			continue
		}
		for _, address := range addresses {
			if fields[1] == address {
				return fields[9]
			}
		}
	}
	return ""
}
