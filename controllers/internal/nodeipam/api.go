package nodeipam

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// api is the controller's access to Nodes. Reads return the latest state.
type api interface {
	List(ctx context.Context) ([]*corev1.Node, error)
	Get(ctx context.Context, name string) (*corev1.Node, error)
	// SetPodCIDRs fails with a conflict if the Node was replaced by another one.
	SetPodCIDRs(ctx context.Context, node *corev1.Node, podCIDRs []string) error
}

// clientAPI is the api of a client.
type clientAPI struct{ client coreclient.NodeInterface }

func (a clientAPI) List(ctx context.Context) ([]*corev1.Node, error) {
	list, err := a.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	nodes := make([]*corev1.Node, len(list.Items))
	for i := range list.Items {
		nodes[i] = &list.Items[i]
	}
	return nodes, nil
}

func (a clientAPI) Get(ctx context.Context, name string) (*corev1.Node, error) {
	return a.client.Get(ctx, name, metav1.GetOptions{})
}

func (a clientAPI) SetPodCIDRs(ctx context.Context, node *corev1.Node, podCIDRs []string) error {
	patch, err := podCIDRsPatch(node, podCIDRs)
	if err != nil {
		return err
	}
	_, err = a.client.Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

// podCIDRsPatch returns the patch that sets the networks of a Node of that UID.
func podCIDRsPatch(node *corev1.Node, podCIDRs []string) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": node.UID},
		"spec":     map[string]any{"podCIDR": podCIDRs[0], "podCIDRs": podCIDRs},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the pod networks of node %s: %w", node.Name, err)
	}
	return patch, nil
}
