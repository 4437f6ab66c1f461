package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// unmapProgram takes the pages of the program that cannot be written out of the resident memory. Failures
// leave them there.
func unmapProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	mappings, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer mappings.Close()
	for lines := bufio.NewScanner(mappings); lines.Scan(); {
		if start, end, ok := readOnlyMapping(lines.Text(), program); ok {
			// The pages are clean copies of the file, which the kernel reads again at the next access.
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, end-start, syscall.MADV_DONTNEED)
		}
	}
}

// readOnlyMapping returns the addresses in a line of /proc/self/maps (proc_pid_maps(5)) if they are a mapping
// of the file that cannot be written.
func readOnlyMapping(line, file string) (start, end uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || !strings.HasPrefix(fields[1], "r-") || !strings.HasSuffix(line, " "+file) {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(fields[0], "-")
	first, err := strconv.ParseUint(from, 16, strconv.IntSize)
	if err != nil {
		return 0, 0, false
	}
	last, err := strconv.ParseUint(to, 16, strconv.IntSize)
	return uintptr(first), uintptr(last), err == nil && last > first
}
