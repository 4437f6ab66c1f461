package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm"

	"minikcm.dev/minikcm/apiserver"
)

// admissionFlags are the flags of the admission plugins, as kube-apiserver's.
type admissionFlags struct {
	enable, disable []string
	configFile      string
}

func (f *admissionFlags) register(flags *pflag.FlagSet) {
	var on, off []string
	for _, plugin := range apiserver.AdmissionPlugins() {
		if plugin.Default {
			on = append(on, plugin.Name)
		} else {
			off = append(off, plugin.Name)
		}
	}
	flags.StringSliceVar(&f.enable, "enable-admission-plugins", nil, fmt.Sprintf("admission plugins to enable in addition to those that are on by default: %s. The order does not matter", strings.Join(off, ", ")))
	flags.StringSliceVar(&f.disable, "disable-admission-plugins", nil, fmt.Sprintf("admission plugins to disable although they are on by default: %s. The order does not matter", strings.Join(on, ", ")))
	flags.StringVar(&f.configFile, "admission-control-config-file", "", "file with an AdmissionConfiguration, which configures admission plugins")
}

func (f *admissionFlags) set(opts *minikcm.Options) error {
	opts.Security.EnableAdmissionPlugins, opts.Security.DisableAdmissionPlugins, opts.Security.AdmissionConfig = f.enable, f.disable, f.configFile
	return apiserver.AdmissionOptions{Enable: f.enable, Disable: f.disable, ConfigFile: f.configFile}.Check()
}
