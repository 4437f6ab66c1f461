package kubeletsim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/kubeletsim/internal/images"
)

// TestImageContent checks the entrypoint, the arguments, the user and the programs that a profile
// declares of an image.
func TestImageContent(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	profile := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "tool", Labels: map[string]string{images.LabelImage: ""}},
		Data: map[string]string{
			"image": "example.com/tool:*", "entrypoint": "/tool", "args": "print\ndefault arguments", "user": "1000:1001",
			"program.tool": `case $1 in
print) shift; echo "$(id -u):$(id -g) $*";;
check) test -e /tmp/ok;;
esac
`,
		},
	}
	if _, err := c.client.CoreV1().ConfigMaps("default").Create(t.Context(), profile, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Settle() // a container that starts before the kubelets see the profile runs without it
	for name, test := range map[string]struct {
		command, args []string
		want          string
	}{
		"defaults":   {nil, nil, "1000:1001 default arguments\n"},
		"args":       {nil, []string{"print", "$(UNKNOWN)", "b c"}, "1000:1001 $(UNKNOWN) b c\n"},
		"command":    {[]string{"tool", "print", "x"}, nil, "1000:1001 x\n"},
		"path":       {[]string{"/usr/local/bin/tool"}, []string{"print", "y"}, "1000:1001 y\n"},
		"by-a-shell": {[]string{"sh", "-c", "tool print z | tr z Z"}, nil, "1000:1001 Z\n"},
	} {
		pod := podNamed(name, func(pod *corev1.Pod) {
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			pod.Spec.Containers[0].Image, pod.Spec.Containers[0].Command, pod.Spec.Containers[0].Args = "example.com/tool:1.2", test.command, test.args
		})
		if _, err := c.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.ended(name)
		if got := logOf(t, c.client, name); got != test.want {
			t.Errorf("%s printed %q, want %q", name, got, test.want)
		}
		if stored, err := c.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil || len(stored.Spec.Containers[0].Command) != len(test.command) {
			t.Errorf("%s: the stored command is %q, %v", name, stored.Spec.Containers[0].Command, err)
		}
	}

	c.run(podNamed("probed", func(pod *corev1.Pod) {
		app := &pod.Spec.Containers[0]
		app.Image, app.Command = "example.com/tool:1.2", []string{"sh", "-c", "sleep 1000000"}
		app.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/tool", "check"}}}}
	}))
	if got := c.exec(dialers()[0], "probed", "", nil, "tool", "print", "from", "exec"); got.out != "1000:1001 from exec\n" || got.failure != nil {
		t.Errorf("exec printed %q (%s, %v)", got.out, got.err, got.failure)
	}
	c.EventuallyEvent("default", "Pod", "Warning Unhealthy Readiness probe failed: ")
	if got := c.exec(dialers()[0], "probed", "", nil, "touch", "/tmp/ok"); got.failure != nil {
		t.Fatal(got.failure)
	}
	c.Eventually("the probe to succeed", func(ctx context.Context, client kubernetes.Interface) error {
		got, err := client.CoreV1().Pods("default").Get(ctx, "probed", metav1.GetOptions{})
		if err == nil && !got.Status.ContainerStatuses[0].Ready {
			err = fmt.Errorf("it is not ready: %v", strings.TrimSpace(got.Status.Message))
		}
		return err
	})
}

// ended waits until a pod has ended.
func (c *streamCluster) ended(pod string) {
	c.t.Helper()
	c.Eventually("the pod to end", func(ctx context.Context, client kubernetes.Interface) error {
		got, err := client.CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
		if err == nil && got.Status.Phase != corev1.PodSucceeded {
			err = fmt.Errorf("it is %s", got.Status.Phase)
		}
		return err
	})
}
