package main

import (
	"errors"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/store"
)

// etcdFlags name an etcd cluster that runs elsewhere, as kube-apiserver's flags do.
type etcdFlags struct {
	servers  []string
	caFile   string
	certFile string
	keyFile  string
}

func (f *etcdFlags) register(flags *pflag.FlagSet, usage string) {
	flags.StringSliceVar(&f.servers, "etcd-servers", nil, usage)
	flags.StringVar(&f.caFile, "etcd-cafile", "", "certificate authority that --etcd-servers are verified by")
	flags.StringVar(&f.certFile, "etcd-certfile", "", "client certificate for --etcd-servers")
	flags.StringVar(&f.keyFile, "etcd-keyfile", "", "key of --etcd-certfile")
}

func (f *etcdFlags) options() (store.EtcdOptions, error) {
	opts := store.EtcdOptions{Endpoints: f.servers, CAFile: f.caFile, CertFile: f.certFile, KeyFile: f.keyFile}
	if len(f.servers) == 0 && f.caFile+f.certFile+f.keyFile != "" {
		return opts, errors.New("--etcd-cafile, --etcd-certfile and --etcd-keyfile are for --etcd-servers, which is missing")
	}
	return opts, nil
}
