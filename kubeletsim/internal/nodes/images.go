package nodes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/eviction"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// imageStore are the images on a machine. The node's mutex guards it.
type imageStore struct {
	byName map[string]*storedImage
	// order has the smallest image first; of images of one size, the oldest.
	order []*storedImage
	// bytes is the sum of the sizes.
	bytes int64
}

// storedImage is one image. since is when it came to the node, and used when a pod with it has ended
// last; zero if it was there from the beginning, or none has.
type storedImage struct {
	lifecycle.Image
	since, used time.Time
}

// HasImage reports whether the node has an image.
func (n *Node) HasImage(image string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.images.byName[podspec.ImageName(image)] != nil
}

// AddImages records images that were pulled, or that were there from the beginning (the zero time).
// It returns whether they take anything of the node's disk.
func (n *Node) AddImages(images []lifecycle.Image, now time.Time) bool {
	if len(images) == 0 {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &n.images
	if s.byName == nil {
		s.byName = map[string]*storedImage{}
	}
	before := s.bytes
	for _, image := range images {
		image.Name = podspec.ImageName(image.Name)
		if s.byName[image.Name] != nil {
			continue
		}
		added := &storedImage{Image: image, since: now}
		s.byName[image.Name] = added
		s.bytes += image.Size
		at := len(s.order)
		for at > 0 && s.order[at-1].Size > image.Size {
			at--
		}
		s.order = slices.Insert(s.order, at, added)
	}
	return s.bytes != before
}

// RemoveImages removes images from the node.
func (n *Node) RemoveImages(images []eviction.Image) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &n.images
	for _, image := range images {
		if gone := s.byName[image.Name]; gone != nil {
			delete(s.byName, image.Name)
			s.bytes -= gone.Size
		}
	}
	s.order = slices.DeleteFunc(s.order, func(i *storedImage) bool { return s.byName[i.Name] != i })
}

// StopUsing records that a pod with images has ended.
func (n *Node) StopUsing(pod *corev1.Pod, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range podspec.Containers(pod) {
		if image := n.images.byName[podspec.ImageName(c.Image)]; image != nil {
			image.used = now
		}
	}
}

// ImageBytes returns the bytes that the images take on the node's disk.
func (n *Node) ImageBytes() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.images.bytes
}

// Images returns the images of the node. Those in the given set are in use.
func (n *Node) Images(inUse map[string]bool) []eviction.Image {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]eviction.Image, len(n.images.order))
	for i, image := range n.images.order {
		all[i] = eviction.Image{Name: image.Name, Size: image.Size, Since: image.since, Used: image.used, InUse: inUse[image.Name]}
	}
	return all
}

// seeImages records the images that an earlier process reported.
func (n *Node) seeImages(images []corev1.ContainerImage) {
	for _, image := range slices.Backward(images) {
		if len(image.Names) > 0 {
			n.AddImages([]lifecycle.Image{{Name: image.Names[len(image.Names)-1], Size: image.SizeBytes}}, time.Time{})
		}
	}
}

// maxImages bounds the images that a node reports, as in upstream's kubelet.
const maxImages = 50

// imageList returns the images for the node's status: the largest first, as upstream's kubelet does,
// and of images of one size, or without a declared one, the newest.
func (n *Node) imageList() []corev1.ContainerImage {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []corev1.ContainerImage
	for _, image := range slices.Backward(n.images.order) {
		if len(list) == maxImages {
			break
		}
		list = append(list, reportedImage(image.Image))
	}
	return list
}

// reportedImage is an image in a node's status: its digest, and its name if that is another.
func reportedImage(image lifecycle.Image) corev1.ContainerImage {
	name := podspec.ImageName(image.Name)
	names := []string{podspec.ImageID(name)}
	if names[0] != name {
		names = append(names, name)
	}
	return corev1.ContainerImage{Names: names, SizeBytes: image.Size}
}
