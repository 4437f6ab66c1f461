package kubeletsim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/remotecommand"

	"minikcm.dev/minikcm/kubeletsim/internal/podtest"
)

// withVolume mounts a volume at /data in every container.
func withVolume(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: source})
		for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range list {
				list[i].VolumeMounts = append(list[i].VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: "/data"})
			}
		}
	}
}

func emptyDir(pod *corev1.Pod) {
	withVolume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})(pod)
}

func hostPath(pod *corev1.Pod) {
	withVolume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/srv/jobs"}})(pod)
}

func restartPolicy(policy corev1.RestartPolicy) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = policy }
}

// exitOf is how a pod that is not started again ended.
func (c *cluster) exitOf(name string) *corev1.ContainerStateTerminated {
	c.t.Helper()
	c.eventually(name+" has ended", func() bool {
		if pod := c.pod(name); pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			return true
		}
		c.advance(time.Second) // its script may have begun to sleep meanwhile
		return false
	})
	return c.pod(name).Status.ContainerStatuses[0].State.Terminated
}

// What a container's script does follows from the files that it finds, and from what only
// the cluster knows.
func TestScriptsUseFiles(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1}, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: metav1.NamespaceDefault},
		Data:       map[string]string{"COLOR": "blue", "run.sh": "#!/bin/sh\necho $1 $COLOR; exit 4\n"},
	})
	settings := func(pod *corev1.Pod) {
		withVolume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, DefaultMode: new(int32(0o755)),
		}})(pod)
		pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
	}
	for i, tt := range []struct {
		script string
		words  []string
		volume func(*corev1.Pod)
		code   int32
		log    string
	}{
		{script: `if [[ -r /data/foo ]]; then exit 0; else touch /data/foo; exit 3; fi`, volume: emptyDir, code: 3},
		{script: `echo a > /data/f; echo b >> /data/f; cat /data/f; rm /data/f; [ ! -e /data/f ] && exit 5`, volume: emptyDir, code: 5, log: "a\nb\n"},
		{script: `mkdir -p /data/a/b && cd /data/a && mv b c && test -d c || exit 1; ls; ! test -d b`, volume: emptyDir, log: "c\n"},
		{script: `(sleep 3; touch /data/go) & until [ -f /data/go ]; do sleep 1; done; echo gone`, volume: emptyDir, log: "gone\n"},
		{script: `trap 'echo bye' EXIT; f() { echo "f $1"; return 6; }; f x`, code: 6, log: "f x\nbye\n"},
		{script: `echo $COLOR | tr a-z A-Z; cat /data/COLOR; test "$COLOR" = red`, volume: settings, code: 1, log: "BLUE\nblue"},
		{words: []string{"/data/run.sh", "sky"}, volume: settings, code: 4, log: "sky blue\n"},
		{script: `set -e; cat /tmp/none; echo not here`, code: 1, log: "cat: /tmp/none: No such file or directory\n"},
		{words: []string{"cat", "/etc/hostname"}, log: "script-8\n"},
	} {
		name := fmt.Sprintf("script-%d", i)
		words := tt.words
		if words == nil {
			words = []string{"sh", "-c", tt.script}
		}
		change := []func(*corev1.Pod){podtest.Command(words...), restartPolicy(corev1.RestartPolicyNever)}
		if tt.volume != nil {
			change = append(change, tt.volume)
		}
		c.create(podtest.Pod(name, "node-0", change...))
		c.until(name+" was started", func() bool { return c.pod(name).Status.StartTime != nil })
		c.advance(10 * time.Second)
		if got := c.exitOf(name); got.ExitCode != tt.code {
			t.Errorf("%s: ended with %d, want %d", words, got.ExitCode, tt.code)
		}
		if diff := cmp.Diff(tt.log, c.log(name, "app")); diff != "" {
			t.Errorf("%s: log (-want +got):\n%s", words, diff)
		}
	}
}

// Files outlive a container's run as their volume does: an emptyDir its pod's containers, a
// host's directory the pod.
func TestFilesOutliveRuns(t *testing.T) {
	const once = `echo run; [ -e /data/foo ] && exit 0; touch /data/foo; exit 1`
	c := newCluster(t, Options{Nodes: 2})
	c.create(podtest.Pod("twice", "node-0", podtest.Command("sh", "-c", once), restartPolicy(corev1.RestartPolicyOnFailure), emptyDir))
	c.exitOf("twice")
	if got := c.pod("twice").Status.ContainerStatuses[0]; got.RestartCount != 1 || got.LastTerminationState.Terminated.ExitCode != 1 {
		t.Errorf("%+v", got)
	}
	if got := c.log("twice", "app", previous) + c.log("twice", "app"); got != "run\nrun\n" {
		t.Errorf("logs: %q", got)
	}
	for _, tt := range []struct {
		name, Node string
		code       int32
	}{{"first", "node-0", 1}, {"second", "node-0", 0}, {"elsewhere", "node-1", 1}} {
		c.create(podtest.Pod(tt.name, tt.Node, podtest.Command("sh", "-c", once), restartPolicy(corev1.RestartPolicyNever), hostPath))
		if got := c.exitOf(tt.name); got.ExitCode != tt.code {
			t.Errorf("%s ended with %d, want %d", tt.name, got.ExitCode, tt.code)
		}
	}
}

// An init container's files are there for the containers after it, and for exec.
func TestInitContainersWriteFiles(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	c.create(podtest.Pod("web", "node-0", podtest.Command("sh", "-c", "cat /data/page; while [ ! -e /data/stop ]; do sleep 1; done; exit 7"), restartPolicy(corev1.RestartPolicyNever), func(pod *corev1.Pod) {
		pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "busybox", Command: []string{"sh", "-c", "sleep 2; echo hello > /data/page"}}}
	}, emptyDir))
	c.until("it was started", func() bool { return c.pod("web").Status.StartTime != nil })
	c.advance(time.Second)
	if got := c.pod("web").Status.Phase; got != corev1.PodPending {
		t.Fatalf("it is %s while it is initialized", got)
	}
	c.advance(2 * time.Second)
	c.until("it is ready", func() bool { return isReady(c.pod("web")) })
	exec, err := c.kubelet.OpenExec(c.pod("web"), &corev1.PodExecOptions{Container: "app", Command: []string{"touch", "/data/stop"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := exec(c.ctx, remotecommand.StreamOptions{}); err != nil {
		t.Fatal(err)
	}
	c.advance(2 * time.Second)
	if got := c.exitOf("web"); got.ExitCode != 7 {
		t.Errorf("it ended with %d", got.ExitCode)
	}
	if got := c.log("web", "app"); got != "hello\n" {
		t.Errorf("log: %q", got)
	}
}

// When a script can no longer be simulated, its container continues as one of
// which nothing is known.
func TestScriptsThatCannotBeFollowed(t *testing.T) {
	c := newCluster(t, Options{Nodes: 1})
	for name, script := range map[string]string{
		"program":  "echo before > /tmp/f; cat /tmp/f; nginx -g 'daemon off;'; exit 9",
		"spins":    "echo before > /tmp/f; cat /tmp/f; while :; do :; done",
		"forever":  "echo before > /tmp/f; cat /tmp/f; tail -f /dev/null",
		"no input": "echo before > /tmp/f; cat /tmp/f; sleep infinity",
	} {
		name = strings.ReplaceAll(name, " ", "-")
		c.create(podtest.Pod(name, "node-0", podtest.Command("sh", "-c", script)))
		c.until(name+" is ready", func() bool { return isReady(c.pod(name)) })
		c.advance(time.Hour)
		if got := c.pod(name).Status.ContainerStatuses[0]; got.State.Running == nil || got.RestartCount != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		want := "before\n"
		if name == "program" {
			want = "minikcm: the content of image nginx is unknown: assumed that nginx succeeds\n" + want
		}
		if got := c.log(name, "app"); got != want {
			t.Errorf("%s: log %q", name, got)
		}
	}
}
