package podspec

import (
	"crypto/sha256"
	_ "crypto/sha512" // for references with such a digest
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
)

// ImageProblem says, in the words of upstream's kubelet, why it cannot read the name of an image; empty if it can.
func ImageProblem(image string) string {
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return fmt.Sprintf("Failed to apply default image tag %q: couldn't parse image name %q: %v", image, image, err)
	}
	return ""
}

// ImageName returns an image's reference with its tag, which defaults to latest. It does not
// add the default registry that a real runtime would.
func ImageName(image string) string {
	if strings.Contains(image, "@") || strings.Contains(image[strings.LastIndexByte(image, '/')+1:], ":") {
		return image
	}
	return image + ":latest"
}

// ImageID returns an image's repository and digest. No image is downloaded, so the digest of a
// reference without one is the hash of the reference.
func ImageID(image string) string {
	name := ImageName(image)
	repository, digest, pinned := strings.Cut(name, "@")
	if i := strings.LastIndexByte(repository, ':'); i > strings.LastIndexByte(repository, '/') {
		repository = repository[:i]
	}
	if !pinned {
		hash := sha256.Sum256([]byte(name))
		digest = "sha256:" + hex.EncodeToString(hash[:])
	}
	return repository + "@" + digest
}

// Pauses reports whether the program of a container is that of Kubernetes' pause image, which only waits for a signal.
func Pauses(c *corev1.Container) bool {
	name := c.Image[strings.LastIndexByte(c.Image, '/')+1:]
	name, _, _ = strings.Cut(name, "@")
	name, _, _ = strings.Cut(name, ":")
	return len(c.Command)+len(c.Args) == 0 && name == "pause"
}
