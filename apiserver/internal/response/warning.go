package response

import (
	"net/http"
	"slices"
	"unicode/utf8"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// The Warning headers of one response may have warningRunes runes in total. If the
// warnings are longer, the beginning of each is sent.
const (
	warningRunes       = 4 << 10
	longWarningRunes   = 256
	kubernetesWarnCode = 299
)

// Warn adds a Warning header (RFC 7234, 5.5), which kubectl prints, unless the
// response has it already or the headers have reached their limit.
func Warn(w http.ResponseWriter, text string) {
	header, err := utilnet.NewWarningHeader(kubernetesWarnCode, "", text)
	if err != nil || slices.Contains(w.Header()["Warning"], header) {
		return
	}
	said, _ := utilnet.ParseWarningHeaders(w.Header()["Warning"])
	total := 0
	for _, warning := range said {
		total += utf8.RuneCountInString(warning.Text)
	}
	if total+utf8.RuneCountInString(text) <= warningRunes {
		w.Header().Add("Warning", header)
		return
	}
	w.Header().Del("Warning")
	total = 0
	for _, warning := range append(said, utilnet.WarningHeader{Text: text}) {
		short := []rune(warning.Text)
		short = short[:min(len(short), longWarningRunes)]
		if header, err = utilnet.NewWarningHeader(kubernetesWarnCode, "", string(short)); err == nil && total < warningRunes {
			total += len(short)
			w.Header().Add("Warning", header)
		}
	}
}
