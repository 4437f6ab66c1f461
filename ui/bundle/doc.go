// Package bundle holds the files of the live page, made from the TypeScript beside it.
package bundle

//go:generate go tool -modfile=../../tools/go.mod esbuild ../src/page.tsx ../src/worker.ts ../src/index.html ../src/icon.svg --tsconfig=../tsconfig.json --bundle --minify --charset=utf8 --target=es2022 --format=esm "--banner:js=/*! Contains Preact (MIT, Copyright 2015-present Jason Miller) and uPlot (MIT, Copyright 2022 Leon Sorokin). Their licences are beside them in ui/packages. */" --loader:.html=copy --loader:.svg=copy --loader:.yaml=text --entry-names=[name] --outdir=. --log-level=warning
