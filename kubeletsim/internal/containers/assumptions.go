package containers

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/internal/span"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/logs"
	"minikcm.dev/minikcm/kubeletsim/internal/script"
)

// maxAssumptions bounds the assumptions about one run of a container that are kept.
const maxAssumptions = 100

// assumptions are the lines of a container's log that say what was assumed of its image, each once. They
// take no part in the simulation: they are written into a log when it is read.
type assumptions struct {
	mu    sync.Mutex
	seen  map[string]bool
	lines []logs.Line
}

func newAssumptions() *assumptions { return &assumptions{seen: map[string]bool{}} }

func (a *assumptions) add(at time.Time, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen[text] || len(a.lines) >= maxAssumptions {
		return
	}
	a.seen[text] = true
	a.lines = append(a.lines, logs.Line{At: at, From: corev1.LogStreamStderr, Text: text + "\n"})
}

// from returns the lines from the given number on.
func (a *assumptions) from(n int) []logs.Line {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]logs.Line(nil), a.lines[min(n, len(a.lines)):]...)
}

// assumed returns a function that records an assumption about the container's image.
func (in *Ref) assumed(list *assumptions) func(what string) {
	image, now := in.spec.Image, in.runtime.opts.Clock.Now
	return func(what string) {
		list.add(now(), fmt.Sprintf("minikcm: the content of image %s is unknown: assumed that %s", image, what))
	}
}

// lasts reports whether a container whose command is unknown runs until it is stopped.
func (in *Ref) lasts() bool {
	return lifecycle.DefaultRun(in.pod, in.kind()) == span.Forever
}

// runsUnknown reports whether nothing is known of the container's process: its command is the image's own, or
// an unknown program.
func (in *Ref) runsUnknown() bool {
	if len(in.spec.Command)+len(in.spec.Args) == 0 {
		return true
	}
	program := script.ProgramOf(in.pod, in.spec)
	program.ID = in.id
	_, _, predictable := program.Predict()
	return !predictable && !script.RunsLive(program, in.spec)
}

// assumptionsOf returns the assumptions about a run of a container; nil if there are none.
func (f *Files) assumptionsOf(name, id string) *assumptions {
	f.mu.Lock()
	defer f.mu.Unlock()
	if root := f.roots[name]; root.id == id {
		return root.assumptions
	}
	return nil
}

// started is the line that the log of a container begins with whose output is unknown.
func started(c *corev1.Container) string {
	command := "its program"
	if words := podspec.CommandLine(c.Command, c.Args); len(c.Command) > 0 {
		command = words[0]
	}
	return fmt.Sprintf("minikcm: started %s of image %s, whose output is unknown\n", command, c.Image)
}
