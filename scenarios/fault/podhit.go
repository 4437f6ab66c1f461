package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// hit breaks one pod.
func (p *Pods) hit(ctx context.Context, env *Env, pod *corev1.Pod) (injected, error) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	switch p.Action {
	case PodKill:
		return nil, p.kill(ctx, env, pod)
	case PodEvict:
		return nil, evict(ctx, env, pod, p.seconds(nil))
	case PodCrash:
		code := int32(1)
		if p.ExitCode != nil {
			code = int32(*p.ExitCode) // it was checked
		}
		if err := env.Cluster.Kubelets().CrashContainer(name, p.Container, code); err != nil {
			return nil, err
		}
		env.note("pod/%s crashed with exit code %d", pod.Name, code)
	case PodOOM:
		if err := env.Cluster.Kubelets().OOMKillContainer(name, p.Container); err != nil {
			return nil, err
		}
		env.note("pod/%s ran out of memory", pod.Name)
	case PodNotReady:
		undo, err := env.Holds.hold("readiness of "+name.String()+" "+p.Container, func() error {
			return env.Cluster.Kubelets().FailReadiness(name, p.Container, p.Message)
		}, func() error {
			// A deleted pod has nothing to restore.
			_ = env.Cluster.Kubelets().RestoreReadiness(name, p.Container)
			return nil
		})
		if err == nil {
			env.note("pod/%s is not ready", pod.Name)
		}
		return undo, err
	}
	return nil, nil
}

func (p *Pods) seconds(otherwise *int64) *int64 {
	if p.Grace == nil {
		return otherwise
	}
	s := int64(time.Duration(*p.Grace) / time.Second)
	return &s
}

func (p *Pods) kill(ctx context.Context, env *Env, pod *corev1.Pod) error {
	none := int64(0)
	err := env.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: p.seconds(&none), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		env.note("pod/%s was gone already", pod.Name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("killing pod %s: %w", pod.Name, err)
	}
	env.note("pod/%s killed", pod.Name)
	return nil
}

// removeImages makes the kubelets fail to pull the images of the pods' containers.
func (p *Pods) removeImages(env *Env, pods []corev1.Pod) (injected, error) {
	kubelets := env.Cluster.Kubelets()
	images := map[string]bool{}
	for i := range pods {
		for j := range pods[i].Spec.Containers {
			images[pods[i].Spec.Containers[j].Image] = true
		}
	}
	var undo []injected
	for _, image := range slices.Sorted(maps.Keys(images)) {
		text := p.Message
		if text == "" {
			text = fmt.Sprintf("rpc error: code = NotFound desc = failed to pull and unpack image %q: %s: not found", image, image)
		}
		set := func(message string) func() error {
			return func() error {
				kubelets.FailImagePull(image, message)
				return nil
			}
		}
		u, err := env.Holds.hold("image "+image, set(text), set(""))
		if err != nil {
			return all(undo), err
		}
		undo = append(undo, u)
		env.note("image %s is gone", image)
	}
	return all(undo), nil
}
