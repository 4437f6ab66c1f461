package containers

import (
	"context"
	"io/fs"
	"sync"

	corev1 "k8s.io/api/core/v1"
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

// volume returns the content of a volume that is not projected. The machines of a pod share it.
func (in *Ref) volume(ctx context.Context, v *corev1.Volume) (*memfs.Tree, error) {
	rt := in.runtime
	switch {
	case v.HostPath != nil:
		return rt.shared.volume(rt.space, hostKey(in.node.Name, v.HostPath.Path)), nil
	case v.NFS != nil:
		return rt.shared.volume(rt.space, nfsKey(v.NFS)), nil
	case v.PersistentVolumeClaim != nil:
		return in.claim(ctx, v.PersistentVolumeClaim.ClaimName)
	case v.EmptyDir != nil:
		return in.entry.Files().emptyDir(rt.space, v.Name, v.EmptyDir), nil
	case v.Ephemeral != nil:
		return in.claim(ctx, ephemeral.VolumeClaimName(in.pod, v))
	}
	return in.entry.Files().volume(rt.space, v.Name), nil
}

// fill writes the content of a projected volume into a tree.
func (p *projection) fill(ctx context.Context, tree *memfs.Tree) error {
	in, v := p.in, p.volume
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
			err = p.fillToken(ctx, tree, source.ServiceAccountToken, mode)
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
