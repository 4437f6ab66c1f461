package kubeletsim_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestTerminationMessage checks the messages that containers leave in a file, or as the end of
// their log.
func TestTerminationMessage(t *testing.T) {
	t.Parallel()
	c := newStreamCluster(t)
	for name, test := range map[string]struct {
		script, path string
		policy       corev1.TerminationMessagePolicy
		want         string
	}{
		"file":             {"printf DONE > /dev/termination-log", "", "", "DONE"},
		"own-path":         {"echo DONE > /tmp/why; exit 3", "/tmp/why", "", "DONE\n"},
		"nothing":          {"echo output; exit 1", "", "", ""},
		"log":              {"echo first; printf last; false", "", corev1.TerminationMessageFallbackToLogsOnError, "first\nlast"},
		"file-before-log":  {"echo output; printf file > /dev/termination-log; exit 1", "", corev1.TerminationMessageFallbackToLogsOnError, "file"},
		"log-of-a-success": {"echo output; cat /etc/hostname > /dev/null", "", corev1.TerminationMessageFallbackToLogsOnError, ""},
	} {
		pod := podNamed(name, func(pod *corev1.Pod) {
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			main := &pod.Spec.Containers[0]
			main.Command, main.TerminationMessagePath, main.TerminationMessagePolicy = []string{"sh", "-c", test.script}, test.path, test.policy
		})
		if _, err := c.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Eventually("the container to end", func(ctx context.Context, client kubernetes.Interface) error {
			got, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
			switch {
			case err != nil:
				return err
			case len(got.Status.ContainerStatuses) == 0 || got.Status.ContainerStatuses[0].State.Terminated == nil:
				return fmt.Errorf("the pod is %s", got.Status.Phase)
			}
			if message := got.Status.ContainerStatuses[0].State.Terminated.Message; message != test.want {
				t.Errorf("%s: the message is %q, want %q", name, message, test.want)
			}
			return nil
		})
	}
}
