package containers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/nodes"
)

// RunDue runs the probes and the lifecycle hooks that a step has found due.
func (rt *Runtime) RunDue(ctx context.Context, n *nodes.Node, e Pod, pod *corev1.Pod, out *lifecycle.Outcome) {
	rt.runProbes(ctx, n, e, pod, &out.State, out.ProbesDue)
	rt.runHooks(ctx, n, e, pod, &out.State, out.HooksDue)
}

// runHooks runs hooks as runProbes runs probes, and reports their ends to the pod's worker.
func (rt *Runtime) runHooks(ctx context.Context, n *nodes.Node, e Pod, pod *corev1.Pod, state *lifecycle.State, due []lifecycle.HookRequest) {
	for _, q := range due {
		ref := podspec.Containers(pod)[q.Container]
		c := &state.Containers[q.Container]
		in := &Ref{runtime: rt, node: n, entry: e, pod: pod, spec: ref.Container, id: lifecycle.ContainerID(podspec.RuntimeUID(pod), c.Name, c.Restarts)}
		key := pod.Namespace + "/" + pod.Name + "/" + c.Name
		ended := func(answer lifecycle.OccurrenceKind, why string) {
			kind := lifecycle.HookSucceeded
			if answer == lifecycle.ProbeFailed || why != "" {
				kind = lifecycle.HookFailed
			}
			e.Occur(lifecycle.Occurrence{Container: in.spec.Name, Run: in.id, Hook: q.Kind, Kind: kind, Message: why})
		}
		rt.processes.GoInTurn(ctx, "hook", key, func(work *inflight.Work) {
			ctx := inflight.With(inflight.Alone(ctx), work)
			hook := q.Kind.Of(ref.Container)
			switch {
			case hook.Exec != nil:
				in.probeCommand(ctx, work, hook.Exec, q.Limit, ended)
				return
			case hook.Sleep != nil:
				if inflight.Sleep(ctx, rt.opts.Clock, min(time.Duration(hook.Sleep.Seconds)*time.Second, q.Limit)) == nil {
					ended(lifecycle.ProbeSucceeded, "")
				}
				return
			}
			if e.Files().begun(ctx, ref.Name, in.id) == nil {
				in.get(ctx, in.reaches(ref, hook.HTTPGet.Port), hook.HTTPGet, q.Limit, func(int) string { return "" }, ended) // any status will do
			}
		})
	}
}
