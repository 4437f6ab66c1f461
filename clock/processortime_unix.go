//go:build unix

package clock

import (
	"syscall"
	"time"
)

// ProcessorTime returns how long processors have run this process, in user and in kernel mode.
// Like Stopwatch, it is for figures shown to people. It is 0 where the system does not say.
func ProcessorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
