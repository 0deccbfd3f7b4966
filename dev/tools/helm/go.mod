module inferenceversion.io/dev/tools/helm

go 1.26
