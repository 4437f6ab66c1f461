package controllers

import (
	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/controllers/internal/certificates/approving"
	"minikcm.dev/minikcm/controllers/internal/certificates/cleaner"
	"minikcm.dev/minikcm/controllers/internal/certificates/signing"
	"minikcm.dev/minikcm/controllers/internal/podcertificaterequestcleaner"
	"minikcm.dev/minikcm/controllers/internal/trustbundlepublisher"
)

// certificateControllers are the controllers of certificates. Those of certificate signing
// requests share one service account, as upstream's do.
func certificateControllers() []Descriptor {
	const docs = "reference/access-authn-authz/certificate-signing-requests/"
	return []Descriptor{
		{
			Name: signing.Name, Aliases: []string{"csrsigning"}, Account: "certificate-controller",
			About:   "signs approved requests for certificates",
			Watches: []string{"certificatesigningrequests"}, Writes: []string{"certificatesigningrequests/status"},
			Docs: docs, Flags: signingFlags, Build: configured(signing.New, signingOptions),
		},
		{
			Name: approving.Name, Aliases: []string{"csrapproving"}, Account: "certificate-controller",
			About:   "approves the certificate signing requests of nodes that may make them",
			Watches: []string{"certificatesigningrequests"}, Writes: []string{"certificatesigningrequests/approval"},
			Docs: docs, Build: constructor(approving.New),
		},
		{
			Name: cleaner.Name, Aliases: []string{"csrcleaner"}, Account: "certificate-controller",
			About:   "deletes certificate signing requests that are no longer needed",
			Watches: []string{"certificatesigningrequests"}, Writes: []string{"certificatesigningrequests"},
			Docs: docs, Build: constructor(cleaner.New),
		},
		{
			Name: podcertificaterequestcleaner.Name, Account: "podcertificaterequestcleaner",
			About:   "deletes requests for certificates of pods 15 minutes after their creation",
			Watches: []string{"podcertificaterequests"}, Writes: []string{"podcertificaterequests"},
			Docs: docs + "#pod-certificate-requests", Build: constructor(podcertificaterequestcleaner.New),
		},
		{
			Name: trustbundlepublisher.Name, Account: "kube-apiserver-serving-clustertrustbundle-publisher",
			About:   "publishes the certificates that the apiserver is verified by in a ClusterTrustBundle",
			Watches: []string{"clustertrustbundles"}, Writes: []string{"clustertrustbundles"},
			Docs: docs + "#cluster-trust-bundles", Build: constructor(trustbundlepublisher.New),
		},
	}
}

func signingFlags(fs *pflag.FlagSet, s *Settings) {
	c := &s.CSRSigningController
	fs.StringVar(&c.ClusterSigningCertFile, "cluster-signing-cert-file", c.ClusterSigningCertFile, "file of the certificate, in PEM, of the authority that signs requests")
	fs.StringVar(&c.ClusterSigningKeyFile, "cluster-signing-key-file", c.ClusterSigningKeyFile, "file of that authority's private key, in PEM")
	fs.DurationVar(&c.ClusterSigningDuration.Duration, "cluster-signing-duration", c.ClusterSigningDuration.Duration, "how long a certificate lasts at most")
}

func signingOptions(s *Settings) signing.Options {
	c := &s.CSRSigningController
	return signing.Options{CertFile: c.ClusterSigningCertFile, KeyFile: c.ClusterSigningKeyFile, Longest: c.ClusterSigningDuration.Duration}
}
