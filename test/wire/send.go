package main

import (
	"context"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// sideBySide limits the parallel cases that run at a time.
const sideBySide = 32

// send returns the results of the requests that match, in the order of the cases. The other
// requests of a case that has a match are sent, too, and all of the cases that prepare others. Of
// the cases that match, one of every part runs. A case that ran beside others is repeated alone if an
// answer is not as expected: what it waited for may have come too late on a busy machine.
func send(ctx context.Context, pair exchange.Pair, cases []exchange.Case, only *regexp.Regexp, part int, expected func(exchange.Result) bool) iter.Seq[exchange.Result] {
	var selected []exchange.Case
	for i, c := range cases {
		if i == 0 || strings.HasPrefix(c.Name, "custom/") || (part <= 1 || i%part == 0) && slices.ContainsFunc(c.Requests, func(r exchange.Request) bool { return only.MatchString(c.Name + "/" + r.Name) }) {
			selected = append(selected, c)
		}
	}
	return func(yield func(exchange.Result) bool) {
		for len(selected) > 0 && ctx.Err() == nil {
			at := slices.IndexFunc(selected, func(c exchange.Case) bool { return !c.Parallel })
			var results []exchange.Result
			if at == 0 {
				results, selected = pair.Run(ctx, selected[0]), selected[1:]
			} else {
				if at < 0 {
					at = len(selected)
				}
				results, selected = together(ctx, pair, selected[:at], expected), selected[at:]
			}
			for _, result := range results {
				if only.MatchString(result.Name) && !yield(result) {
					return
				}
			}
		}
	}
}

// together runs cases side by side, then alone those with unexpected answers, and returns the results in order.
func together(ctx context.Context, pair exchange.Pair, cases []exchange.Case, expected func(exchange.Result) bool) []exchange.Result {
	results := make([][]exchange.Result, len(cases))
	seats := make(chan struct{}, sideBySide)
	var all sync.WaitGroup
	for i, c := range cases {
		seats <- struct{}{}
		all.Go(func() {
			defer func() { <-seats }()
			results[i] = pair.Run(ctx, c)
		})
	}
	all.Wait()
	for i, c := range cases {
		if slices.ContainsFunc(results[i], func(r exchange.Result) bool { return !r.Setup && !expected(r) }) {
			results[i] = pair.Run(ctx, c)
		}
	}
	return slices.Concat(results...)
}
