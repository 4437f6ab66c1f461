package podspec

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// ImageName is an image's reference with its tag. A real runtime also puts a registry
// in front of a name that has none; here there is no registry to name.
func ImageName(image string) string {
	if strings.Contains(image, "@") || strings.Contains(image[strings.LastIndexByte(image, '/')+1:], ":") {
		return image
	}
	return image + ":latest"
}

// ImageID names what is behind an image's reference. No image is ever fetched: a
// digest that the reference does not tell is made from the reference itself.
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
