package imagepolicy

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	defaults := config{kubeconfig: "k", allowTTL: 5 * time.Minute, denyTTL: 30 * time.Second, backoff: 500 * time.Millisecond}
	with := func(change func(*config)) config {
		c := defaults
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		text   string
		want   config
		failed string
	}{
		"defaults":       {text: "imagePolicy: {kubeConfigFile: k}", want: defaults},
		"JSON":           {text: `{"imagePolicy": {"kubeConfigFile": "k", "defaultAllow": true}}`, want: with(func(c *config) { c.defaultAllow = true })},
		"all":            {text: "imagePolicy: {kubeConfigFile: k, allowTTL: 60, denyTTL: 1, retryBackoff: 20}", want: config{kubeconfig: "k", allowTTL: time.Minute, denyTTL: time.Second, backoff: 20 * time.Millisecond}},
		"not kept":       {text: "imagePolicy: {kubeConfigFile: k, allowTTL: -1, denyTTL: -1}", want: with(func(c *config) { c.allowTTL, c.denyTTL = 0, 0 })},
		"unknown fields": {text: "imagePolicy: {kubeConfigFile: k, more: 1}", want: defaults},
		"nothing":        {failed: "no config specified"},
		"too long":       {text: "imagePolicy: {allowTTL: 1801}", failed: "imagePolicy.allowTTL is 1801, in units of 1s: valid value is between 1s and 30m0s"},
		"overflowing":    {text: "imagePolicy: {denyTTL: 9223372036854775807}", failed: "valid value is between 1s and 30m0s"},
		"negative":       {text: "imagePolicy: {retryBackoff: -2}", failed: "imagePolicy.retryBackoff is -2, in units of 1ms: valid value is between 1ns and 5m0s"},
		"not a number":   {text: "imagePolicy: {denyTTL: 30s}", failed: "cannot unmarshal string"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse([]byte(test.text))
			if test.failed != "" {
				if err == nil || !strings.Contains(err.Error(), test.failed) {
					t.Errorf("%v, want %s", err, test.failed)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("%+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}
