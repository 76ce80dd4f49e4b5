module github.com/promcost/promcost/tools/prices

go 1.26.0
