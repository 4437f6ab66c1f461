package serviceip

import (
	"fmt"
	"strconv"
	"strings"
)

// PortRange is a range of ports, both ends included.
type PortRange struct{ First, Last int32 }

// DefaultNodePorts is upstream's default of --service-node-port-range.
func DefaultNodePorts() PortRange { return PortRange{First: 30000, Last: 32767} }

// ParsePortRange parses "30000-32767", "30000+100" or a single port, as upstream's
// flags.
func ParsePortRange(text string) (PortRange, error) {
	var r PortRange
	first, last, isRange := strings.Cut(text, "-")
	base, length, isLength := strings.Cut(text, "+")
	var err error
	switch {
	case isRange:
		if r.First, err = parsePort(first); err == nil {
			r.Last, err = parsePort(last)
		}
	case isLength:
		if r.First, err = parsePort(base); err == nil {
			r.Last, err = parsePort(length)
			r.Last += r.First
		}
	default:
		r.First, err = parsePort(text)
		r.Last = r.First
	}
	switch {
	case err != nil:
		return PortRange{}, fmt.Errorf("unable to parse port range %q: %w", text, err)
	case r.First < 1 || r.Last > 65535:
		return PortRange{}, fmt.Errorf("port range %q is not within 1-65535", text)
	case r.Last < r.First:
		return PortRange{}, fmt.Errorf("port range %q ends before it begins", text)
	}
	return r, nil
}

func parsePort(text string) (int32, error) {
	number, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	return int32(number), err // 16 bits
}

func (r PortRange) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

func (r PortRange) contains(port int32) bool { return port >= r.First && port <= r.Last }

func (r PortRange) size() int { return int(r.Last-r.First) + 1 }

// static returns the size of the part at the beginning that is reserved for requested
// ports while the rest has free ones (KEP-3668).
func (r PortRange) static() int {
	const least, most = 16, 128
	if r.size() < least {
		return 0
	}
	return min(max(r.size()/32, least), most)
}
