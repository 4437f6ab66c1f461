package lifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/listeners"
	"minikcm.dev/minikcm/kubeletsim/internal/script"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
)

// HookKind is one of a container's lifecycle hooks.
type HookKind int

// The hooks.
const (
	PostStart HookKind = iota
	PreStop
)

// Of returns the hook of a container; nil if it has none.
func (k HookKind) Of(c *corev1.Container) *corev1.LifecycleHandler {
	switch {
	case c.Lifecycle == nil:
		return nil
	case k == PostStart:
		return c.Lifecycle.PostStart
	}
	return c.Lifecycle.PreStop
}

// HookRequest is a hook that the caller has to run. Its end is an Occurrence: HookSucceeded or HookFailed.
type HookRequest struct {
	Container int
	Kind      HookKind
	// Limit is the time after which the container is killed; 0: it is not.
	Limit time.Duration
}

// runHook begins a hook, and reports whether the caller of Step runs it. A hook whose connection is refused fails at once.
func (s *stepper) runHook(c *Container, ref podspec.Container, kind HookKind, limit time.Duration) (runs bool) {
	hook := kind.Of(ref.Container)
	if hook == nil {
		return false
	}
	if s.hookFails(ref, hook) {
		s.hookFailed(c, ref, kind)
		return false
	}
	if awaited := kind == PreStop && c.traps && preStop(ref.Container, false) > 0; !awaited && !s.acts(ref, hook) {
		return false
	}
	i := slices.IndexFunc(s.refs, func(r podspec.Container) bool { return r.Name == ref.Name })
	s.hooksDue = append(s.hooksDue, HookRequest{i, kind, limit})
	return true
}

// acts reports whether a hook may have an effect, or fail. A command that only takes time and writes has none: its duration is known,
// and the caller runs it only if a process waits for the signal that follows. Nor has a request to a server of which nothing is known,
// or whose answers are fixed.
func (s *stepper) acts(ref podspec.Container, hook *corev1.LifecycleHandler) bool {
	switch {
	case hook.Exec != nil:
		return s.Observed.of(ref.Name).Course == 0 && runsCommand(hook.Exec.Command)
	case hook.HTTPGet != nil && hook.HTTPGet.Host == "":
		at, _, refused := listeners.OfProbe(s.Pod, s.runs, ref, hook.HTTPGet.Port)
		if at == nil || at.Described == nil {
			return !refused && s.programsDecide(ref, at)
		}
		_, constant := at.Described.Constant(servers.ProbeRequest(hook.HTTPGet))
		return !constant
	}
	return false
}

// runsCommand reports whether the command of a hook is run: it is, unless it is predicted to succeed.
func runsCommand(command []string) bool {
	code, _, ok := script.Interpret(command, nil)
	return !ok || code != 0
}

// hookFailed reports that a hook has failed. A container whose postStart hook has is stopped.
func (s *stepper) hookFailed(c *Container, ref podspec.Container, kind HookKind) {
	if kind == PreStop {
		s.report(&ref, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed")
		return
	}
	s.report(&ref, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed")
	s.report(&ref, corev1.EventTypeNormal, "Killing", "FailedPostStartHook")
	s.signal(c, ref, s.Now.Add(s.grace()))
}

// endHook follows the end of a hook. After its preStop hook, a container gets the signal.
func (s *stepper) endHook(i int, f Occurrence) {
	c, ref := &s.State.Containers[i], s.refs[i]
	waits := f.Hook == PreStop && c.hooked
	if f.Kind == HookFailed && (waits && s.Now.Before(c.StopAt) || f.Hook == PostStart && c.StopAt.IsZero()) {
		s.hookFailed(c, ref, f.Hook)
	}
	if waits {
		c.hooked = false
		s.send(c, ref, c.StopAt)
	}
}
