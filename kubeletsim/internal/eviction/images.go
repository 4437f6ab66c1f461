package eviction

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// CollectionInterval is the time between two collections of unused images.
const CollectionInterval = 5 * time.Minute

// ImagePolicy holds a kubelet's rules for the garbage collection of images. The defaults are the
// same as in upstream's kubelet.
type ImagePolicy struct {
	// HighPercent of the node's disk must be used for a collection, which frees it down to
	// LowPercent. With 100, nothing is ever collected.
	HighPercent, LowPercent int
	// MinAge is the minimum age of an image that is removed.
	MinAge time.Duration
}

const (
	defaultHighPercent = 85
	defaultLowPercent  = 80
	defaultMinAge      = 2 * time.Minute
)

// imagePolicy reads the annotations for the garbage collection of images, and passes what is wrong
// with them to failed.
func imagePolicy(high, low, minAge string, failed func(key string, err error)) ImagePolicy {
	p := ImagePolicy{defaultHighPercent, defaultLowPercent, defaultMinAge}
	percent := func(key, text string, value *int) {
		if text == "" {
			return
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(text, "%"), 10, 7)
		if err != nil || n > 100 {
			failed(key, fmt.Errorf("%q is not a percentage from 0 to 100", text))
			return
		}
		*value = int(n)
	}
	percent(AnnotationImageHigh, high, &p.HighPercent)
	percent(AnnotationImageLow, low, &p.LowPercent)
	if p.LowPercent >= p.HighPercent {
		failed(AnnotationImageLow, fmt.Errorf("%d%% is not less than %s, which is %d%%", p.LowPercent, AnnotationImageHigh, p.HighPercent))
		p.HighPercent, p.LowPercent = defaultHighPercent, defaultLowPercent
	}
	if minAge != "" {
		d, err := parsePeriod(minAge)
		failed(AnnotationImageMinAge, err)
		if err == nil {
			p.MinAge = d
		}
	}
	return p
}

// Image is an image on a node.
type Image struct {
	Name string
	Size int64
	// Since is when it came to the node, and Used when a pod with it has ended last; zero if it was
	// there from the beginning, or no pod has.
	Since, Used time.Time
	// InUse means that a pod has it now.
	InUse bool
}

// imageBytes returns the size of the images on the node's disk.
func (n *Node) imageBytes() float64 {
	var sum float64
	for i := range n.Images {
		sum += float64(n.Images[i].Size)
	}
	return sum
}

// diskUsed returns the bytes that images and pods use of the node's disk.
func (n *Node) diskUsed(at time.Time) float64 { return n.imageBytes() + n.used(diskSignal, at) }

// usedPercent rounds up, as upstream's kubelet does.
func (n *Node) usedPercent(used float64) int {
	capacity := n.capacity(DiskAvailable)
	return 100 - int(max(capacity-used, 0)*100/capacity)
}

// collects reports whether the node's disk is full enough for a collection, if so much is used.
func (n *Node) collects(p *Policy, used float64) bool {
	return p.Images.HighPercent < 100 && n.capacity(DiskAvailable) > 0 && n.usedPercent(used) >= p.Images.HighPercent
}

// unused returns the images that may be removed, the one that has been unused for longest first.
func (n *Node) unused(p *Policy, now time.Time) []Image {
	var all []Image
	for _, image := range n.Images {
		if !image.InUse && now.Sub(image.Since) >= p.Images.MinAge {
			all = append(all, image)
		}
	}
	slices.SortFunc(all, func(a, b Image) int {
		return cmp.Or(a.Used.Compare(b.Used), a.Since.Compare(b.Since), strings.Compare(a.Name, b.Name))
	})
	return all
}

// without returns the node without some of its images.
func (n *Node) without(removed []Image) *Node {
	rest := *n
	rest.Images = slices.DeleteFunc(slices.Clone(n.Images), func(i Image) bool {
		return slices.ContainsFunc(removed, func(r Image) bool { return r.Name == i.Name })
	})
	return &rest
}

// Collection is the result of a collection of images.
type Collection struct {
	// Remove are the images to remove.
	Remove []Image
	// Failed says why that is not enough; empty if it is.
	Failed string
}

// Collect returns the images that a kubelet removes from its node at the check of each
// CollectionInterval: the ones that have been unused for longest, until the disk is at the low
// threshold. Below the high threshold, it removes none.
func Collect(p *Policy, n *Node, now time.Time) Collection {
	used, capacity := n.diskUsed(now), n.capacity(DiskAvailable)
	if !n.collects(p, used) {
		return Collection{}
	}
	wanted := int64(capacity)*int64(100-p.Images.LowPercent)/100 - int64(max(capacity-used, 0))
	var c Collection
	var freed int64
	for _, image := range n.unused(p, now) {
		if freed >= wanted {
			break
		}
		c.Remove = append(c.Remove, image)
		freed += image.Size
	}
	if freed < wanted {
		c.Failed = fmt.Sprintf("Insufficient free disk space on the node's image filesystem (%d%% of %s used). Failed to free sufficient space by deleting unused images (freed %d bytes). "+
			"Investigate disk usage, as it could be used by active images, logs, volumes, or other data.", n.usedPercent(used), size(capacity), freed)
	}
	return c
}

// size is an amount of bytes as messages about disks have it.
func size(bytes float64) string {
	units, i := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}, 0
	for ; bytes >= 1024 && i < len(units)-1; i++ {
		bytes /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%.0f B", bytes)
	}
	return fmt.Sprintf("%.1f %s", bytes, units[i])
}

// nextCollection plans the next collection that does anything. If there is none within an hour, and
// one might be necessary later, it plans another look ahead then.
func (n *Node) nextCollection(p *Policy, now time.Time) Plan {
	if !n.collects(p, n.imageBytes()+n.most(diskSignal)) {
		return Plan{}
	}
	at := now.Truncate(CollectionInterval)
	for end := at.Add(horizon); at.Before(end); {
		at = at.Add(CollectionInterval)
		if n.collects(p, n.diskUsed(at)) {
			return Plan{At: at, Collect: true}
		}
	}
	return Plan{At: at}
}

// reclaimImages removes all unused images, as a kubelet does before it evicts a pod for ephemeral
// storage. It returns the node without them.
func (n *Node) reclaimImages(p *Policy, t *Threshold, now time.Time) (*Node, []Image) {
	if t.Signal.resource() != corev1.ResourceEphemeralStorage {
		return n, nil
	}
	removed := n.unused(p, now)
	if len(removed) == 0 {
		return n, nil
	}
	return n.without(removed), removed
}
