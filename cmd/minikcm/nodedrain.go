package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/drain"
)

// evictionRetry is the delay before an eviction that a PodDisruptionBudget refused is
// retried, in machine time.
const evictionRetry = time.Second

// drainNode cordons a node, evicts its pods as kubectl does, and returns when they are gone.
func drainNode(ctx context.Context, client kubernetes.Interface, node string, opts drain.Options, out io.Writer) error {
	cordon := []byte(`{"spec":{"unschedulable":true}}`)
	if _, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, cordon, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("cordoning node %s: %w", node, err)
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return fmt.Errorf("listing the pods of node %s: %w", node, err)
	}
	selected, err := drain.Select(pods.Items, opts, drain.DaemonSets(ctx, client))
	if err == nil {
		err = selected.Err()
	}
	if err != nil {
		return err
	}
	for _, warning := range selected.Warnings {
		if _, err := fmt.Fprintf(out, "Warning: %s\n", warning); err != nil {
			return err
		}
	}
	if err := evictAll(ctx, client, selected.Evict); err != nil {
		return err
	}
	return waitGone(ctx, client, node, selected.Evict, func(pod *corev1.Pod) error {
		_, err := fmt.Fprintf(out, "pod %s/%s evicted from %s%s\n", pod.Namespace, pod.Name, node, afterwards(pod))
		return err
	})
}

// evictAll evicts pods and retries refused evictions until all are granted. A refused eviction does
// not delay the evictions of other pods.
func evictAll(ctx context.Context, client kubernetes.Interface, pods []corev1.Pod) error {
	for why := map[types.UID]string{}; ; {
		var refused []corev1.Pod
		for i := range pods {
			refusal, err := drain.Evict(ctx, client, &pods[i], nil)
			switch {
			case errors.Is(err, drain.ErrGone):
			case err != nil && ctx.Err() != nil && len(why) > 0:
				return refusedError(append(refused, pods[i:]...), why)
			case err != nil:
				return err
			case refusal != "":
				refused = append(refused, pods[i])
				why[pods[i].UID] = refusal
			}
		}
		if len(refused) == 0 {
			return nil
		}
		pods = refused
		retry := clock.Real().NewTimer(evictionRetry)
		select {
		case <-retry.C():
		case <-ctx.Done():
			retry.Stop()
			return refusedError(pods, why)
		}
	}
}

func refusedError(pods []corev1.Pod, why map[types.UID]string) error {
	texts := make([]string, len(pods))
	for i := range pods {
		texts[i] = fmt.Sprintf("%s/%s (%s)", pods[i].Namespace, pods[i].Name, why[pods[i].UID])
	}
	return fmt.Errorf("%s not evicted: %s", count(len(pods), "pod"), strings.Join(texts, ", "))
}

// registerDrainFlags adds kubectl drain's flags about pods that are lost.
func registerDrainFlags(flags *pflag.FlagSet, opts *drain.Options) {
	flags.BoolVar(&opts.Force, "force", false, "drain nodes although pods that no controller replaces are lost, as \"kubectl drain --force\"")
	flags.BoolVar(&opts.DeleteEmptyDirData, "delete-emptydir-data", false, "drain nodes although the data of emptyDir volumes is lost, as \"kubectl drain --delete-emptydir-data\"")
}
