//go:build !unix

package clock

import "time"

// ProcessorTime returns 0: this system has no getrusage.
func ProcessorTime() time.Duration { return 0 }
