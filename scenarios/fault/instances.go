package fault

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"minikcm.dev/minikcm/internal/simulatedcloud"
)

// stopInstance stops the instance of a node in the simulated cloud. The last fault that stopped it
// starts it, unless it is gone by then.
func stopInstance(ctx context.Context, env *Env, name string) (injected, error) {
	last := env.Holds.count("instance of node/" + name)
	undo := func(ctx context.Context) error {
		if !last() {
			return nil
		}
		if err := setInstance(ctx, env, name, simulatedcloud.Running); err != nil {
			return ignoreNotFound(err)
		}
		env.note("the instance of node/%s was started", name)
		return nil
	}
	if err := setInstance(ctx, env, name, simulatedcloud.Stopped); err != nil {
		return undo, withoutInstance(name, err)
	}
	env.note("the instance of node/%s was stopped", name)
	return undo, nil
}

// setInstance sets the state of an instance.
func setInstance(ctx context.Context, env *Env, name, state string) error {
	instances := env.Client.CoreV1().ConfigMaps(simulatedcloud.Namespace)
	err := retry.RetryOnConflict(nodeConflicts, func() error {
		c, err := getInstance(ctx, env, name)
		if err == nil && simulatedcloud.SetState(c, state) {
			_, err = instances.Update(ctx, c, metav1.UpdateOptions{})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("setting the state of the instance of node %s: %w", name, err)
	}
	return nil
}

// getInstance returns the ConfigMap of an instance; the error is NotFound if the node has none.
func getInstance(ctx context.Context, env *Env, name string) (*corev1.ConfigMap, error) {
	c, err := env.Client.CoreV1().ConfigMaps(simulatedcloud.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if _, is := simulatedcloud.InstanceOf(c); !is {
		return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
	}
	return c, nil
}

// deleteInstance deletes the instance of a node in the simulated cloud.
func deleteInstance(ctx context.Context, env *Env, name string) error {
	c, err := getInstance(ctx, env, name)
	if err == nil {
		err = env.Client.CoreV1().ConfigMaps(simulatedcloud.Namespace).Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &c.UID}})
	}
	if err != nil {
		return withoutInstance(name, fmt.Errorf("deleting the instance of node %s: %w", name, err))
	}
	env.note("the instance of node/%s was deleted", name)
	return nil
}

// withoutInstance explains the error for a node that has no instance.
func withoutInstance(name string, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("node %s has no instance in the simulated cloud: start the cluster with --cloud-provider=%s", name, simulatedcloud.Provider)
	}
	return err
}
