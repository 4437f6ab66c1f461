// Code generated from examples/clientset/main.go by go generate. DO NOT EDIT.

package examples

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

// The program clientset scales a Deployment with a clientset, which has a typed client for each
// built-in kind. It reads, changes and writes the object, and tries again if another client has
// written it in between.
func clientset(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	deployments := client.AppsV1().Deployments("default")
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		web, err := deployments.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		replicas := *web.Spec.Replicas + 1
		web.Spec.Replicas = &replicas
		// The resourceVersion in web makes the server answer 409 Conflict if web is outdated.
		web, err = deployments.Update(ctx, web, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			fmt.Println("once more:", err)
		}
		if err != nil {
			return err
		}
		fmt.Printf("%s now wants %d replicas\n", web.Name, *web.Spec.Replicas)
		return nil
	})
}
