package main

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// leastMemory is the smallest memory limit: an empty cluster needs about half of it.
const leastMemory = 128 << 20

// limitMemory returns the memory that the process may use, in bytes, and makes it the limit
// of the garbage collector. 0 means no limit.
func limitMemory(flag string) (uint64, error) {
	if flag == "" {
		if known := debug.SetMemoryLimit(-1); known != math.MaxInt64 { // GOMEMLIMIT
			return uint64(known), nil
		}
		limit := availableMemory() / 4 * 3
		if limit > 0 {
			debug.SetMemoryLimit(int64(limit))
		}
		return limit, nil
	}
	quantity, err := resource.ParseQuantity(flag)
	if err != nil {
		return 0, fmt.Errorf("--memory-limit %s: %w; write it like 2Gi", flag, err)
	}
	limit := quantity.Value()
	if limit < leastMemory {
		return 0, fmt.Errorf("--memory-limit %s: it must be at least 128Mi", flag)
	}
	debug.SetMemoryLimit(limit)
	return uint64(limit), nil
}

// The files in which Linux says how much memory there is: of the cgroup (versions 2 and 1),
// and of the machine.
const (
	cgroupLimit   = "/sys/fs/cgroup/memory.max"
	cgroupV1Limit = "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	machineMemory = "/proc/meminfo"
)

// availableMemory returns the memory of the cgroup or the machine, whichever is less; 0 if it
// is not known.
func availableMemory() uint64 {
	least := uint64(0)
	for _, file := range []string{cgroupLimit, cgroupV1Limit, machineMemory} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n := parseMemory(string(text)); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// parseMemory parses the bytes in a cgroup's file, or MemTotal in /proc/meminfo; 0 if there
// is no limit.
func parseMemory(text string) uint64 {
	unit := uint64(1)
	if _, rest, found := strings.Cut(text, "MemTotal:"); found {
		line, _, _ := strings.Cut(rest, "\n")
		text, unit = strings.TrimSuffix(strings.TrimSpace(line), " kB"), 1024
	}
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 53)
	if err != nil { // "max"
		return 0
	}
	return n * unit
}
