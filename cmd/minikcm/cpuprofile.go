package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// profiled calls f, and writes a CPU profile of it to the file at path unless that is empty.
func profiled(path string, f func() error) (err error) {
	if path == "" {
		return f()
	}
	file, err := os.Create(path)
	if err != nil {
		return badInput{fmt.Errorf("--cpuprofile: %w", err)}
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return fmt.Errorf("profiling: %w", err)
	}
	defer pprof.StopCPUProfile()
	return f()
}
