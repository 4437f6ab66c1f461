package script

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/applets"
)

// ProgramOf returns the program of a container's command. Its words are nil if they refer
// to variables that only the cluster knows.
func ProgramOf(pod *corev1.Pod, c *corev1.Container) *Program {
	words := podspec.CommandLine(c.Command, c.Args)
	if len(words) == 0 {
		return &Program{vars: &podspec.Variables{}}
	}
	g := &Program{vars: podspec.KnownVariables(pod, c), words: make([]string, len(words))}
	for i, word := range words {
		var known bool
		if g.words[i], known = g.vars.Expand(word); !known {
			g.words = nil
			break
		}
	}
	return g
}

// RunsLive reports whether a command that cannot be predicted is run by package box: its
// program is a simulated one or comes from a volume. A command of a container with stdin is run
// when a client attaches.
func RunsLive(g *Program, c *corev1.Container) bool {
	words := podspec.CommandLine(c.Command, c.Args)
	if c.Stdin || len(words) == 0 {
		return false
	}
	if len(g.words) > 0 {
		words = g.words
	}
	return Runnable(c, words)
}

// Runnable reports whether a command's program is a simulated one or comes from a volume.
func Runnable(c *corev1.Container, words []string) bool {
	if inner := applets.Wrapped(words); inner != nil {
		return Runnable(c, inner)
	}
	if len(words) == 0 || applets.Runs(words) {
		return len(words) > 0
	}
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		return strings.HasPrefix(words[0], strings.TrimSuffix(m.MountPath, "/")+"/")
	})
}

// Program is a command line with the environment that it runs in.
type Program struct {
	words []string
	vars  *podspec.Variables
	// ID names the run. RANDOM follows from it, and so from the cluster's seed.
	ID string
}
