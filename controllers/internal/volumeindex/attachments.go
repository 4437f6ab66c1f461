package volumeindex

import (
	"cmp"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	attachmentsByVolume = "minikcm.dev/attachments-by-volume"
	attachmentsByNode   = "minikcm.dev/attachments-by-node"
)

// Attachments is a cache of VolumeAttachments.
type Attachments struct{ indexer cache.Indexer }

// NewAttachments adds the indexes to a cache of attachments, unless another controller has added
// them.
func NewAttachments(indexer cache.Indexer) (Attachments, error) {
	err := add(indexer, attachmentsByVolume, func(a *storagev1.VolumeAttachment) (string, bool) {
		return VolumeOf(a), VolumeOf(a) != ""
	})
	if err != nil {
		return Attachments{}, err
	}
	return Attachments{indexer}, add(indexer, attachmentsByNode, func(a *storagev1.VolumeAttachment) (string, bool) {
		return a.Spec.NodeName, true
	})
}

// VolumeOf returns the name of the volume of an attachment; "": it is not a PersistentVolume.
func VolumeOf(a *storagev1.VolumeAttachment) string {
	if name := a.Spec.Source.PersistentVolumeName; name != nil {
		return *name
	}
	return ""
}

// Of returns the attachments of a volume, sorted by name.
func (a Attachments) Of(volume string) []*storagev1.VolumeAttachment {
	return of[*storagev1.VolumeAttachment](a.indexer, attachmentsByVolume, volume)
}

// On returns the attachments to a node, sorted by name.
func (a Attachments) On(node string) []*storagev1.VolumeAttachment {
	return of[*storagev1.VolumeAttachment](a.indexer, attachmentsByNode, node)
}

// Get returns an attachment; nil: there is none.
func (a Attachments) Get(name string) *storagev1.VolumeAttachment {
	return get[*storagev1.VolumeAttachment](a.indexer, name)
}

// All returns all attachments, sorted by name.
func (a Attachments) All() []*storagev1.VolumeAttachment {
	var all []*storagev1.VolumeAttachment
	for _, object := range a.indexer.List() {
		if attachment, ok := object.(*storagev1.VolumeAttachment); ok {
			all = append(all, attachment)
		}
	}
	slices.SortFunc(all, func(x, y *storagev1.VolumeAttachment) int { return cmp.Compare(x.Name, y.Name) })
	return all
}
