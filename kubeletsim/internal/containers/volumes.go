package containers

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/ephemeral"

	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// sharedVolumes are the volumes that outlive pods: host paths of nodes and persistent volumes,
// by a unique key.
type sharedVolumes struct {
	Files
	// watching starts the watch that frees the content of deleted volumes.
	watching sync.Once
}

// volume returns the content of a volume. Content from the API is created for the caller alone
// (own).
func (in *Ref) volume(ctx context.Context, v *corev1.Volume) (tree *memfs.Tree, own bool, err error) {
	rt := in.runtime
	switch {
	case v.ConfigMap != nil, v.Secret != nil, v.DownwardAPI != nil, v.Projected != nil:
		tree := rt.space.NewTree(0o755)
		if err := in.fill(ctx, tree, v); err != nil {
			tree.Free()
			return nil, false, err
		}
		return tree, true, nil
	case v.HostPath != nil:
		return rt.shared.volume(rt.space, hostKey(in.node.Name, v.HostPath.Path)), false, nil
	case v.NFS != nil:
		return rt.shared.volume(rt.space, nfsKey(v.NFS)), false, nil
	case v.PersistentVolumeClaim != nil:
		return in.claim(ctx, v.PersistentVolumeClaim.ClaimName)
	case v.EmptyDir != nil:
		return in.entry.Files().emptyDir(rt.space, v.Name, v.EmptyDir), false, nil
	case v.Ephemeral != nil:
		return in.claim(ctx, ephemeral.VolumeClaimName(in.pod, v))
	}
	return in.entry.Files().volume(rt.space, v.Name), false, nil
}

// fill writes a volume's content from the API into a tree.
func (in *Ref) fill(ctx context.Context, tree *memfs.Tree, v *corev1.Volume) error {
	switch {
	case v.ConfigMap != nil:
		return in.fillKeys(ctx, tree, false, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional, v.ConfigMap.DefaultMode)
	case v.Secret != nil:
		return in.fillKeys(ctx, tree, true, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional, v.Secret.DefaultMode)
	case v.DownwardAPI != nil:
		return in.fillFields(tree, v.DownwardAPI.Items, v.DownwardAPI.DefaultMode)
	}
	mode := v.Projected.DefaultMode
	for index, source := range v.Projected.Sources {
		var err error
		switch {
		case source.ConfigMap != nil:
			err = in.fillKeys(ctx, tree, false, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional, mode)
		case source.Secret != nil:
			err = in.fillKeys(ctx, tree, true, source.Secret.Name, source.Secret.Items, source.Secret.Optional, mode)
		case source.DownwardAPI != nil:
			err = in.fillFields(tree, source.DownwardAPI.Items, mode)
		case source.ServiceAccountToken != nil:
			err = in.fillToken(ctx, tree, source.ServiceAccountToken, mode)
		case source.ClusterTrustBundle != nil:
			err = in.fillBundle(ctx, tree, source.ClusterTrustBundle, mode)
		case source.PodCertificate != nil:
			err = in.fillCertificate(tree, v.Name, index, mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func permOf(mode, fallback *int32) fs.FileMode {
	switch {
	case mode != nil:
		return fs.FileMode(*mode).Perm() // the API allows 0 to 0777
	case fallback != nil:
		return fs.FileMode(*fallback).Perm() // as above
	}
	return 0o644
}

func (in *Ref) fillKeys(ctx context.Context, tree *memfs.Tree, secret bool, name string, items []corev1.KeyToPath, optional *bool, mode *int32) error {
	data, assumed, err := in.data(ctx, secret, name, optional)
	if err != nil {
		return err
	}
	if assumed {
		data = map[string][]byte{}
		for _, item := range items {
			data[item.Key] = []byte(unknown.Line)
		}
		if len(items) == 0 {
			tree.Obscure()
		}
	}
	if len(items) == 0 {
		for key, value := range data {
			tree.Put(key, permOf(nil, mode), value)
		}
		return nil
	}
	for _, item := range items {
		if value, ok := data[item.Key]; ok {
			tree.Put(item.Path, permOf(item.Mode, mode), value)
		}
	}
	return nil
}

func (in *Ref) fillFields(tree *memfs.Tree, items []corev1.DownwardAPIVolumeFile, mode *int32) error {
	for _, item := range items {
		var value string
		var err error
		switch {
		case item.FieldRef != nil:
			value, err = in.field(item.FieldRef)
		case item.ResourceFieldRef != nil:
			value, err = in.resource(item.ResourceFieldRef)
		}
		if err != nil {
			return err
		}
		tree.Put(item.Path, permOf(item.Mode, mode), []byte(value))
	}
	return nil
}

// fillToken requests a token that is bound to the pod, as its kubelet does.
func (in *Ref) fillToken(ctx context.Context, tree *memfs.Tree, source *corev1.ServiceAccountTokenProjection, mode *int32) error {
	account := in.pod.Spec.ServiceAccountName
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: source.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: in.pod.Name, UID: in.pod.UID},
	}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	answer, err := in.runtime.opts.Client.CoreV1().ServiceAccounts(in.pod.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("requesting a token of service account %s: %w", account, err)
	}
	tree.Put(source.Path, permOf(nil, mode), []byte(answer.Status.Token))
	return nil
}
