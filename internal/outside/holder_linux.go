package outside

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// listening is the state of a socket that listens, in /proc/net/tcp.
const listening = "0A"

// holder returns the process that listens on a port of an IPv4 address; empty if that is not known. The files of other users'
// processes cannot be read.
func holder(address string, port int32) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	own := fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip.AsSlice()), port)
	any4 := fmt.Sprintf("%08X:%04X", 0, port)
	inode := inodeOf("/proc/net/tcp", own, any4)
	if inode == "" {
		inode = inodeOf("/proc/net/tcp6", fmt.Sprintf("%032X:%04X", 0, port))
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

// inodeOf returns the inode of the socket that listens on one of the addresses; empty if none does.
func inodeOf(table string, addresses ...string) string {
	data, err := os.ReadFile(table)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != listening {
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
