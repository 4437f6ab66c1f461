package lifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// restartsOn gives a container its own policy and a rule for an exit code.
func restartsOn(c *corev1.Container, policy corev1.ContainerRestartPolicy, action corev1.ContainerRestartRuleAction, code int32) {
	c.RestartPolicy = &policy
	c.RestartPolicyRules = append(c.RestartPolicyRules, corev1.ContainerRestartRule{
		Action:    action,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}},
	})
}

// all is restartsOn for the action RestartAllContainers and the exit code 42.
func all(c *corev1.Container, policy corev1.ContainerRestartPolicy) {
	restartsOn(c, policy, corev1.ContainerRestartRuleActionRestartAllContainers, 42)
}

// A container's exit code restarts the whole pod in place.
func TestRestartAll(t *testing.T) {
	const never, always = corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyAlways
	appRestartsAll := func(pod *corev1.Pod) { all(&pod.Spec.Containers[0], never) }
	second := func(change ...func(*corev1.Container)) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			c := corev1.Container{Name: "second", Image: "nginx"}
			for _, f := range change {
				f(&c)
			}
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
	}
	neverPod := podtest.Policy(corev1.RestartPolicyNever)
	exits := func(container string, code int32) Occurrence { return Occurrence{Container: container, ExitCode: code} }
	tests := []struct {
		name string
		pod  []func(*corev1.Pod)
		play func(w *world)
	}{
		{"app", []func(*corev1.Pod){neverPod, appRestartsAll, second(), podtest.Initially(corev1.Container{Name: "init", Command: []string{"sleep", "5"}}, corev1.Container{Name: "side"})}, func(w *world) {
			w.until(time.Minute)
			w.step(exits("app", 42))
			w.until(time.Hour)
			w.step(exits("app", 1))
			w.until(2 * time.Hour)
			w.step(exits("second", 0))
		}},
		{"other code", []func(*corev1.Pod){neverPod, appRestartsAll}, func(w *world) { w.step(exits("app", 41)) }},
		{"first rule decides", []func(*corev1.Pod){neverPod, func(pod *corev1.Pod) {
			restartsOn(&pod.Spec.Containers[0], never, corev1.ContainerRestartRuleActionRestart, 42)
		}, appRestartsAll, second()}, func(w *world) { w.step(exits("app", 42)) }},
		{"init", []func(*corev1.Pod){neverPod, podtest.Initially(corev1.Container{Name: "side"}, corev1.Container{Name: "init", Command: []string{"sh", "-c", "sleep 2; exit 42"}}), func(pod *corev1.Pod) {
			all(&pod.Spec.InitContainers[1], never)
		}}, func(w *world) { w.until(7 * time.Second) }},
		{"sidecar", []func(*corev1.Pod){podtest.Initially(corev1.Container{Name: "side"}, corev1.Container{Name: "init", Command: []string{"sleep", "5"}}), func(pod *corev1.Pod) {
			all(&pod.Spec.InitContainers[0], always)
		}}, func(w *world) {
			w.until(2 * time.Second)
			w.step(exits("side", 42))
			w.until(time.Minute)
			w.step(exits("side", 42))
			w.until(time.Hour)
		}},
		{"completed and backing off", []func(*corev1.Pod){neverPod, appRestartsAll, second(func(c *corev1.Container) { c.Command = []string{"true"} }), second(func(c *corev1.Container) {
			c.Name = "third"
			policy := corev1.ContainerRestartPolicyOnFailure
			c.RestartPolicy = &policy
		})}, func(w *world) {
			w.step(exits("third", 1))
			w.step(exits("third", 1))
			w.until(2 * time.Second)
			w.step(exits("app", 42))
			w.until(time.Minute)
			w.step(exits("third", 1))
			w.until(time.Hour)
		}},
		{"slow to stop", []func(*corev1.Pod){appRestartsAll, second(func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}}
		}), second(func(c *corev1.Container) { c.Name = "third" }), podtest.Annotated("stop-delay.third", "1m")}, func(w *world) {
			w.lat.ContainerStop = 50 * time.Millisecond
			w.step(exits("app", 42))
			w.until(time.Hour)
		}},
		{"exits at once", []func(*corev1.Pod){appRestartsAll, podtest.Command("sh", "-c", "exit 42")}, func(w *world) { w.until(5 * time.Second) }},
		{"deleted", []func(*corev1.Pod){appRestartsAll, second()}, func(w *world) {
			w.step(exits("app", 42))
			w.until(1500 * time.Millisecond)
			w.delete(30 * time.Second)
			w.until(time.Hour)
		}},
		{"exit code while deleted", []func(*corev1.Pod){appRestartsAll, podtest.Annotated("stop-delay", "10s"), second()}, func(w *world) {
			w.delete(30 * time.Second)
			w.step(exits("app", 42))
			w.until(time.Hour)
		}},
		{"init fails afterwards", []func(*corev1.Pod){neverPod, appRestartsAll, podtest.Initially(corev1.Container{Name: "init"})}, func(w *world) {
			w.lat.InitRun = 10 * time.Second
			w.until(time.Minute)
			w.step(exits("app", 42))
			w.until(time.Minute + 5*time.Second)
			w.step(exits("init", 1))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(podtest.Pod("web", "node-0", tt.pod...))
			w.step()
			tt.play(w)
			golden.Compare(t, goldenFile("restart all "+tt.name), w.log.String())
		})
	}
}

// A restart of all containers goes on in another process.
func TestAdoptRestartAll(t *testing.T) {
	pod := podtest.Pod("web", "node-0", podtest.Policy(corev1.RestartPolicyNever), podtest.Initially(corev1.Container{Name: "init", Command: []string{"sleep", "5"}}), func(pod *corev1.Pod) {
		all(&pod.Spec.Containers[0], corev1.ContainerRestartPolicyNever)
	})
	for at := range 9 {
		w := newWorld(pod)
		w.step()
		w.until(time.Minute)
		w.step(Occurrence{Container: "app", ExitCode: 42})
		w.until(time.Minute + time.Duration(at)*time.Second)
		w.known = false
		w.step()
		w.until(time.Hour)
		for _, cs := range append(w.pod.Status.InitContainerStatuses, w.pod.Status.ContainerStatuses...) {
			if cs.RestartCount != 1 || !cs.Ready {
				t.Errorf("taken over %d s after the exit: %s is %+v", at, cs.Name, cs)
			}
		}
	}
}

// The last run of a removed container has no status: its log is out of reach, as in upstream.
func TestLogsAfterRestartAll(t *testing.T) {
	w := newWorld(podtest.Pod("web", "node-0", func(pod *corev1.Pod) { all(&pod.Spec.Containers[0], corev1.ContainerRestartPolicyNever) }))
	w.step()
	w.step(Occurrence{ExitCode: 42})
	w.until(1500 * time.Millisecond)
	if id, err := LoggedRun(w.pod, &w.state, "app", false); err == nil || err.Error() != `container "app" in pod "web" is terminated` {
		t.Errorf("log of a removed container: %s, %v", id, err)
	}
	w.until(time.Minute)
	if id, err := LoggedRun(w.pod, &w.state, "app", true); err == nil || err.Error() != `previous terminated container "app" in pod "web" not found` {
		t.Errorf("log of the run before: %s, %v", id, err)
	}
	id, err := LoggedRun(w.pod, &w.state, "app", false)
	if want := ContainerID(w.pod.UID, "app", 1); err != nil || id != want {
		t.Errorf("log of the present run: %s, %v, want %s", id, err, want)
	}
	if runs := w.state.TimesOf(w.pod, "app", id); !runs.Began.Equal(podtest.Epoch.Add(2 * time.Second)) {
		t.Errorf("the present run: %+v", runs)
	}
	if runs := w.state.TimesOf(w.pod, "app", ContainerID(w.pod.UID, "app", 0)); !runs.Ended.Equal(podtest.Epoch) {
		t.Errorf("the run before: %+v", runs)
	}
}

// The complete statuses that kubelets write for a pod that starts over.
func TestRestartAllInFull(t *testing.T) {
	pod := podtest.Pod("web", "node-0", podtest.Initially(corev1.Container{Name: "init", Command: []string{"sleep", "5"}}), func(pod *corev1.Pod) {
		all(&pod.Spec.Containers[0], corev1.ContainerRestartPolicyNever)
	})
	w := newWorld(pod)
	w.step()
	w.until(time.Minute)
	w.step(Occurrence{Container: "app", ExitCode: 42})
	goldenYAML(t, "status of a pod whose containers all restart", w.pod.Status)
	w.until(time.Minute + time.Second)
	goldenYAML(t, "status of a pod whose containers are removed", w.pod.Status)
}

func TestActionOn(t *testing.T) {
	const restart, all = corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers
	rule := func(action corev1.ContainerRestartRuleAction, operator corev1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) corev1.ContainerRestartRule {
		return corev1.ContainerRestartRule{Action: action, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: codes}}
	}
	const in, notIn = corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn
	for _, tt := range []struct {
		name  string
		rules []corev1.ContainerRestartRule
		code  int32
		want  corev1.ContainerRestartRuleAction
	}{
		{"no rule", nil, 1, ""},
		{"no codes", []corev1.ContainerRestartRule{{Action: all}}, 1, ""},
		{"in", []corev1.ContainerRestartRule{rule(all, in, 1, 42)}, 42, all},
		{"not in", []corev1.ContainerRestartRule{rule(all, notIn, 0)}, 42, all},
		{"excluded", []corev1.ContainerRestartRule{rule(all, notIn, 0, 42)}, 42, ""},
		{"another matches", []corev1.ContainerRestartRule{rule(all, in, 1), rule(restart, in, 42)}, 42, restart},
		{"the first that matches", []corev1.ContainerRestartRule{rule(all, notIn, 1), rule(restart, in, 42)}, 42, all},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ref := podspec.Container{Container: &corev1.Container{RestartPolicyRules: tt.rules}}
			if got := actionOn(ref, tt.code); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
