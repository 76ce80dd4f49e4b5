module github.com/promcost/promcost/tools/archive

go 1.26.0
