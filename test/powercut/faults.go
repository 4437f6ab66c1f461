//go:build linux

package powercut

import (
	"strings"
	"sync"
	"syscall"
)

// operation is a request to a disk.
type operation int

const (
	fsync operation = iota
	write
	// shortWrite is a write of more than one byte, of which the disk writes only a part.
	shortWrite
)

// fault lets operations of a disk fail.
type fault struct {
	operation operation
	// file is the end of the names of the files that it concerns.
	file string
	// always means that every second operation is affected. Otherwise one is, with EIO, and
	// the next ones succeed: as on Linux, a second fsync does not repeat the error.
	always bool
}

// faults decides which operations fail. The zero value lets all succeed.
type faults struct {
	mu      sync.Mutex
	armed   *fault
	matched int
	// injected is the number of operations that were affected.
	injected int
}

// arm lets f begin with the next operation that it concerns.
func (s *faults) arm(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.matched = &f, 0
}

// count returns the number of operations that were affected.
func (s *faults) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.injected
}

// affects reports whether the operation on the file has to go wrong.
func (s *faults) affects(o operation, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.armed
	if f == nil || f.operation != o || !strings.HasSuffix(name, f.file) {
		return false
	}
	s.matched++
	if f.always && s.matched%2 == 0 {
		return false
	}
	if !f.always {
		s.armed = nil
	}
	s.injected++
	return true
}

// written returns the part of data that a write writes, or an error if it fails.
func (s *faults) written(name string, data []byte) ([]byte, syscall.Errno) {
	if s.affects(write, name) {
		return nil, syscall.EIO
	}
	if len(data) > 1 && s.affects(shortWrite, name) {
		return data[:len(data)/2], 0
	}
	return data, 0
}
