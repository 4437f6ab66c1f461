package containers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/podcertificates"
)

// Certificates returns the credentials of the pod's volumes.
func (f *Files) Certificates(pod *corev1.Pod) []*podcertificates.Credential {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.credentials == nil {
		all := podcertificates.Of(pod)
		f.credentials = &all
	}
	return *f.credentials
}

// fillCertificate writes the files of a podCertificate source.
func (in *Ref) fillCertificate(tree *memfs.Tree, volume string, index int, mode *int32) error {
	for _, c := range in.entry.Files().Certificates(in.pod) {
		if c.Volume != volume || c.Index != index {
			continue
		}
		key, chain, err := c.Bundle()
		if err != nil {
			return err
		}
		for path, content := range map[string][]byte{
			c.Source.CredentialBundlePath: slices.Concat(key, chain), c.Source.KeyPath: key, c.Source.CertificateChainPath: chain,
		} {
			if path != "" {
				tree.Put(path, permOf(nil, mode), content)
			}
		}
	}
	return nil
}
