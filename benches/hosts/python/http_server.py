"""The tool of the benchmarks, as a FastAPI endpoint."""

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field


class Report(BaseModel):
    """What `benches/case/report_bug.yaml` asks for."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=120)
    body: str = Field(max_length=4000)
    labels: list[str] = Field(max_length=10)
    priority: int = Field(ge=1, le=5)
    assignee: str | None = None
    notify: bool = False


app = FastAPI()


@app.post("/report_bug")
async def report_bug(report: Report) -> Report:
    return report
