package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
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
			code = int32(*p.ExitCode) //nolint:gosec // it was checked
		}
		if err := env.Cluster.Kubelets().Crash(name, p.Container, code); err != nil {
			return nil, err
		}
		env.note("pod/%s crashed with exit code %d", pod.Name, code)
	case PodOOM:
		if err := env.Cluster.Kubelets().OOMKill(name, p.Container); err != nil {
			return nil, err
		}
		env.note("pod/%s ran out of memory", pod.Name)
	case PodNotReady:
		undo, err := env.Holds.hold("readiness of "+name.String()+" "+p.Container, func() error {
			return env.Cluster.Kubelets().Unready(name, p.Container, p.Message)
		}, func() error {
			// A pod that is gone has nothing to take back.
			_ = env.Cluster.Kubelets().ReadyAgain(name, p.Container)
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

// evict asks for an eviction. That a budget refuses it is told, and no failure.
func evict(ctx context.Context, env *Env, pod *corev1.Pod, grace *int64) error {
	refused, err := tryEvict(ctx, env, pod, grace)
	switch {
	case err != nil:
		return err
	case refused != "":
		env.note("pod/%s was not evicted: %s", pod.Name, refused)
	default:
		env.note("pod/%s evicted", pod.Name)
	}
	return nil
}

func tryEvict(ctx context.Context, env *Env, pod *corev1.Pod, grace *int64) (refused string, err error) {
	err = env.Client.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return "", nil
	case apierrors.IsTooManyRequests(err):
		return err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("evicting pod %s: %w", pod.Name, err)
	}
	return "", nil
}

// removeImages makes the images of the pods' containers ones that cannot be had.
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
				kubelets.FailImage(image, message)
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
