package persistentvolumeattachdetach

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// api is the part of the Kubernetes API that the controller uses. It returns the API's errors.
type api interface {
	// Node reads a node without a cache.
	Node(ctx context.Context, name string) (*corev1.Node, error)
	// PatchNodeStatus applies a strategic merge patch to the status of a node.
	PatchNodeStatus(ctx context.Context, name string, patch []byte) (*corev1.Node, error)
	Create(ctx context.Context, attachment *storagev1.VolumeAttachment) (*storagev1.VolumeAttachment, error)
	// Delete deletes an attachment if it has the same UID.
	Delete(ctx context.Context, attachment *storagev1.VolumeAttachment) error
}

// clientAPI is the api of a client.
type clientAPI struct{ client kubernetes.Interface }

func (a clientAPI) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return a.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

func (a clientAPI) PatchNodeStatus(ctx context.Context, name string, patch []byte) (*corev1.Node, error) {
	return a.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

func (a clientAPI) Create(ctx context.Context, attachment *storagev1.VolumeAttachment) (*storagev1.VolumeAttachment, error) {
	return a.client.StorageV1().VolumeAttachments().Create(ctx, attachment, metav1.CreateOptions{})
}

func (a clientAPI) Delete(ctx context.Context, attachment *storagev1.VolumeAttachment) error {
	return a.client.StorageV1().VolumeAttachments().Delete(ctx, attachment.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(attachment.UID))})
}

// attachedPatch is the patch that makes a node report volumes as attached.
func attachedPatch(volumes []corev1.AttachedVolume) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"volumesAttached": volumes}})
	if err != nil {
		return nil, fmt.Errorf("encoding the attached volumes: %w", err)
	}
	return patch, nil
}
